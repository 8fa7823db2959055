package paramflow

import (
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/rule"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 2, Overrides: []Override{{Value: "b", Limit: 5}}}, 0)
	require.Equal(t, 2, passes(l, 0, "a", 7))
	require.Equal(t, 5, passes(l, 0, "b", 20))
	p, _, _, ok := l.Acquire(0, value("c"), 1)
	require.True(t, ok)
	l.Cancel(0, p)
	st := l.Status(0)
	require.Positive(t, st.Bytes)
	st.Bytes, st.Pressure = 0, 0
	require.Equal(t, Status{
		Top:    []TopValue{{Value: "b", Passed: 5, Refused: 15, Limit: 5}, {Value: "a", Passed: 2, Refused: 5, Limit: 2}},
		Values: 1, Named: 1, Passed: 7, Refused: 20,
	}, st)
	text, err := json.Marshal(st)
	require.NoError(t, err)
	require.Contains(t, string(text), `{"value":"b","passed":5,"refused":15,"error":0,"limit":5}`)
	require.Equal(t, "a", l.Shown(value("a")))
}

// What is redacted is nowhere kept or shown, and not after the rule stops to ask for it either.
func TestRedact(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Reject, Concurrency} {
		secret := value(strings.Repeat("s", 20))
		r := Rule{Mode: mode, Limit: 5, Redact: true}
		l := newTestLimiter(t, r, 0)
		call := func() {
			for range 7 {
				l.Acquire(0, secret, 1)
			}
		}
		call()
		keeps := func() (kept bool) {
			for i := range l.stripes {
				for _, v := range l.stripes[i].ranks.value {
					kept = kept || v == secret
				}
				_, inFlight := l.stripes[i].live[secret]
				kept = kept || inFlight
			}
			return kept
		}
		shown := l.Status(0).Top[0].Value
		require.Equal(t, shown, l.Shown(secret))
		require.NotContains(t, shown, "s")
		require.False(t, keeps())
		r.Redact = false
		mustUpdate(t, l, r, 0)
		require.Empty(t, l.Status(0).Top)
		call()
		require.Equal(t, secret.String(), l.Status(0).Top[0].Value)
		require.Equal(t, int64(5), l.Status(0).Passed)
		r.Redact = true
		mustUpdate(t, l, r, 0)
		require.False(t, keeps())
		require.Equal(t, shown, l.Status(0).Top[0].Value)
	}
}

// The hottest values are found beside a scan of values that come once, with what passed and was refused.
func TestTopBesideAScan(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 10}, 0)
	rnd := rand.New(rand.NewPCG(3, 3))
	var now time.Duration
	for i := range 1_000_000 { // 10 s of 100,000 calls a second; 20 values of 30 a second
		now += 10 * time.Microsecond
		v := other(i)
		if n := rnd.IntN(100_000); n < 600 {
			v = value(user(n % 20))
		}
		l.Acquire(now, v, 1)
	}
	st := l.Status(now)
	require.Len(t, st.Top, topValues)
	found := 0
	for _, top := range st.Top {
		if strings.HasPrefix(top.Value, "user-") {
			found++
			require.InDelta(t, 300, float64(top.Passed+top.Refused+top.Error), 150, top.Value)
			require.Greater(t, top.Refused, top.Passed)
		}
	}
	require.GreaterOrEqual(t, found, 19)
	// What was hot is not for ever.
	for range 10_000 {
		l.Acquire(now, value("old"), 1)
	}
	require.Equal(t, "old", l.Status(now).Top[0].Value)
	now += 2 * time.Minute
	for range 500 {
		l.Acquire(now, value("new"), 1)
	}
	require.Equal(t, "new", l.Status(now).Top[0].Value)
}

// Nothing on the path of a call allocates, be it admitted, refused or given back, on a value seen before or a new one.
func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, r := range map[string]Rule{
		"reject":      {Limit: 10},
		"pace":        {Mode: Pace, Limit: 10, MaxWait: time.Second},
		"concurrency": {Mode: Concurrency, Limit: 3},
		"crowded":     {Limit: 10, Values: minValues},
		"redacted":    {Limit: 10, Redact: true},
		"only":        {Limit: 10, Only: rule.Wildcard("user-*7*")},
		"overrides":   {Limit: 10, Overrides: []Override{{Value: "user-1", Limit: 3}, {Wildcard: "user-2*"}, {Regex: "user-[0-9]*7"}}},
	} {
		l := newTestLimiter(t, r, 0)
		var values []extractor.Value
		for i := range 20_000 {
			values = append(values, value(user(i)), other(i))
		}
		var now time.Duration
		i := 0
		call := func() {
			i++
			now += 10 * time.Microsecond
			for _, v := range []extractor.Value{values[i%len(values)], values[i%7]} {
				p, _, _, ok := l.Acquire(now, v, 1)
				if ok && (i%3 == 0 || r.Mode == Concurrency) {
					l.Cancel(now, p)
				}
			}
		}
		for range 50_000 {
			call()
		}
		require.Zero(t, testing.AllocsPerRun(50_000, call), name)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// faults #55: ten million different values take no more memory than none.
func TestMemoryIsFixed(t *testing.T) {
	if raceEnabled {
		t.Skip("nothing races here")
	}
	n := 10_000_000
	if testing.Short() {
		n = 500_000
	}
	for _, mode := range []Mode{Reject, Concurrency} {
		before := heap()
		l := newTestLimiter(t, Rule{Mode: mode, Limit: 10}, 0)
		loaded := heap()
		st := l.Status(0)
		require.InDelta(t, float64(st.Bytes), float64(loaded-before), 40_000)
		for i := range n {
			p, _, _, ok := l.Acquire(time.Duration(i)*10*time.Microsecond, value("user-"+other(i).String()), 1)
			if ok && mode == Concurrency {
				l.Release(p)
			}
		}
		after := heap()
		t.Logf("%v: %d KiB before, %d KiB more with the limiter (it says %d), %d KiB more after %d values", mode, before>>10, (loaded-before)>>10, st.Bytes>>10, (int64(after)-int64(loaded))>>10, n)
		require.Less(t, int64(after)-int64(loaded), int64(150_000))
		runtime.KeepAlive(l)
	}
}

func TestSizes(t *testing.T) {
	require.Equal(t, uintptr(lineBytes), unsafe.Sizeof(line{}))
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.Equal(t, uintptr(40), unsafe.Sizeof(Permit{}))
	}
	l := newTestLimiter(t, Rule{Limit: 1, Values: minValues}, 0)
	require.Less(t, l.Status(0).Bytes, 20_000, "a rule for few values is small")
	require.Equal(t, 8192*64, len(newTestLimiter(t, Rule{Limit: 1}, 0).stripes)*stripeLines*lineBytes, "512 KiB")
}
