package extractor_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/extractor"
)

func TestListHoldsEachValueOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list extractor.List
		for range rapid.IntRange(1, 2).Draw(t, "rounds") {
			list.Reset()
			seen := map[int64]bool{}
			var order []int64
			for _, n := range rapid.SliceOfN(rapid.Int64Range(0, 30), 0, 60).Draw(t, "values") {
				list.Add(extractor.Int(n))
				if !seen[n] {
					seen[n] = true
					order = append(order, n)
				}
			}
			if list.Len() != len(order) || list.Truncated() {
				t.Fatalf("%d values, want %d", list.Len(), len(order))
			}
			for i, n := range order {
				if list.At(i) != extractor.Int(n) {
					t.Fatalf("value %d is %v, want %d", i, list.At(i), n)
				}
			}
		}
	})
}

func TestListIsBounded(t *testing.T) {
	var list extractor.List
	for i := range extractor.MaxValues {
		require.True(t, list.More())
		list.Add(extractor.Int(int64(i)))
	}
	list.Add(extractor.Int(5))
	require.False(t, list.Truncated(), "that was there")
	list.Add(extractor.Int(extractor.MaxValues))
	require.True(t, list.Truncated())
	require.False(t, list.More())
	require.Equal(t, extractor.MaxValues, list.Len())
	require.Panics(t, func() { list.At(list.Len()) })
	list.Reset()
	require.False(t, list.Truncated())
	require.Zero(t, list.Len())
	require.Panics(t, func() { list.At(0) })
	for range 10 * extractor.MaxValues {
		require.True(t, list.More())
	}
	require.False(t, list.More(), "elements without values cost time too")
	require.True(t, list.Truncated())
}

// A call with more elements than are looked at says so, wherever they lie, and takes bounded time.
func TestTooManyElements(t *testing.T) {
	numbers := make([]int, 5000)
	generic := make([]any, 20_000)
	members := map[string]any{}
	body := []byte("[0")
	for i := range numbers {
		numbers[i] = i
		members[extractor.Int(int64(i)).String()] = i
		body = extractor.Int(int64(i)).Append(append(body, ','))
	}
	body = append(body, ']')
	call := &extractor.Call{Method: "m", Args: []any{numbers, generic, members}, Carrier: &carrier{body: body}}
	for path, want := range map[string]int{"arg[0][*]": 1000, "arg[1][*]": 0, "arg[2][*]": 1000, "body[*]": 1000, "arg[0][*] + arg[0][*]": 1000, "arg[1][*] + method": 0, "arg[0][7]": 1} {
		p, err := extractor.Compile(path, extractor.Options{})
		require.NoError(t, err)
		var list extractor.List
		require.NoError(t, p.Extract(call, &list))
		require.Equal(t, want, list.Len(), path)
		require.Equal(t, want != 1, list.Truncated(), path)
	}
}
