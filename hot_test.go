package cordon

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Whatever lies where, a name finds its own resource.
func TestHotNamesAreTheNames(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, Rules{}, WithMaxResources(700), WithIdleTimeout(time.Second))
	long := strings.Repeat("abcdefgh", 40)
	counts := map[string]int64{}
	for round := range 3 {
		for i := range 300 { // parts of one string: one address and many lengths, many addresses and one length
			for _, name := range []string{long[:i], long[i : i+8], fmt.Sprint("made", i), "constant"} {
				require.NoError(t, call(e, name, nil))
				counts[name]++
			}
		}
		for name, n := range counts {
			require.EqualValues(t, n, snap(t, e, name).Passed, "%q in round %d", name, round)
		}
		require.LessOrEqual(t, resources(e), 700)
	}
	// a dropped resource is found no more, and its name has a new one
	clk.Advance(time.Minute)
	for range 4 {
		clk.Advance(2 * time.Second)
		e.resources.mu.Lock()
		e.resources.look(clk.Now(), 1<<20)
		e.resources.mu.Unlock()
	}
	_, ok := e.ResourceSnapshot("constant")
	require.False(t, ok)
	require.NoError(t, call(e, "constant", nil))
	require.NoError(t, call(e, "constant", nil))
	require.EqualValues(t, 2, snap(t, e, "constant").Passed)
}

// A string that was made anew where another one lay cannot be, while the other one is remembered.
func TestHotKeepsWhatItRemembers(t *testing.T) {
	t.Parallel()
	var h hot
	r := newResource(&Engine{}, "x", 1)
	r.table.Store(&table{})
	kept := 0
	for i := range 10_000 {
		name := fmt.Sprint("name", i)
		h.put(name, r)
		if h.find(name) != nil {
			kept++
		}
	}
	require.Positive(t, kept)
	require.LessOrEqual(t, kept, hotNames)
	kept = 0
	r.table.Store(nil) // at rest, or gone: its name must be looked up
	for i := range h {
		if e := h[i].Load(); e != nil && h.find(e.name) != nil {
			kept++
		}
	}
	require.Zero(t, kept)
	h.put("", r)
	require.Nil(t, h.find(""))
	require.Nil(t, h.find(unsafe.String(unsafe.StringData("xy"), 1)))
}
