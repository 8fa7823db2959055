package flow

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// filling is a sensor's reading that a test sets.
type filling struct {
	used, limit, reads atomic.Int64
	unreadable         atomic.Bool
}

func (f *filling) read() (used, limit int64, ok bool) {
	f.reads.Add(1)
	return f.used.Load(), f.limit.Load(), !f.unreadable.Load()
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for name, marks := range map[string][2]float64{"bytes": {1000, 2000}, "shares": {0.25, 0.5}} {
		t.Run(name, func(t *testing.T) {
			var f filling
			f.limit.Store(4000)
			r := Rule{Memory: Memory{LowLimit: 100, HighLimit: 20, LowMark: marks[0], HighMark: marks[1]}}
			l, err := NewLimiterWith(r, 0, NewSensor(f.read))
			require.NoError(t, err)
			now := time.Duration(0)
			for _, step := range []struct {
				used int64
				want int
			}{{0, 100}, {1000, 100}, {1500, 60}, {2000, 20}, {9000, 20}, {1750, 40}, {100, 100}} {
				f.used.Store(step.used)
				now += 2 * time.Second
				require.Equal(t, float64(step.want), l.Limit(now))
				passed := 0
				for range 200 {
					if _, _, retry, ok := l.Acquire(now, 1); ok {
						passed++
					} else {
						require.Equal(t, time.Second, retry)
					}
				}
				require.Equal(t, step.want, passed, "at %d bytes", step.used)
			}

			// A limit that falls while more is in use waits until that has left, and never passes its own.
			f.used.Store(2000)
			now += 300 * time.Millisecond
			_, _, retry, ok := l.Acquire(now, 1)
			require.False(t, ok)
			require.Equal(t, 700*time.Millisecond, retry)
			now += retry
			require.Equal(t, 20, total(offer(l, now, time.Second, time.Millisecond)))
		})
	}
}

func TestMemoryUnknown(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(f *filling){
		"unreadable":      func(f *filling) { f.unreadable.Store(true) },
		"no memory limit": func(f *filling) { f.limit.Store(0) },
	} {
		var f filling
		f.used.Store(1 << 40)
		f.limit.Store(1 << 40)
		spoil(&f)
		l, err := NewLimiterWith(Rule{Memory: Memory{LowLimit: 7, HighLimit: 1, LowMark: 0.5, HighMark: 0.9}}, 0, NewSensor(f.read))
		require.NoError(t, err)
		require.Equal(t, 7, total(offer(l, 0, time.Second, time.Millisecond)), name)
	}
}

// TestSensorIsShared: many limiters read the memory once per period, however often they ask.
func TestSensorIsShared(t *testing.T) {
	t.Parallel()
	var f filling
	sensor := NewSensor(f.read)
	var ls []*Limiter
	for range 50 {
		l, err := NewLimiterWith(Rule{Limit: 1}, 0, sensor)
		require.NoError(t, err)
		mustUpdate(t, l, Rule{Memory: Memory{LowLimit: 2, HighLimit: 1, LowMark: 10, HighMark: 20}}, 0)
		ls = append(ls, l)
	}
	race(50, func(i int) bool {
		for now := time.Duration(0); now < 2*time.Second; now += 10 * time.Millisecond {
			ls[i].Acquire(now, 1)
		}
		return true
	})
	require.LessOrEqual(t, f.reads.Load(), int64(10))
	require.Positive(t, f.reads.Load())
}

// TestMemoryOfThisProcess reads the real files, where there are any.
func TestMemoryOfThisProcess(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Memory: Memory{LowLimit: 5, HighLimit: 1, LowMark: 1 << 60, HighMark: 1 << 61}}, 0)
	require.Equal(t, 5, total(offer(l, 0, time.Second, time.Millisecond)))
	require.Equal(t, 5.0, l.Limit(0))
}

func TestMemoryStress(t *testing.T) {
	t.Parallel()
	const n, per = 60, 2 * time.Millisecond
	var f filling
	base := time.Now()
	l, err := NewLimiterWith(Rule{Per: per, Memory: Memory{LowLimit: n, HighLimit: 3, LowMark: 10, HighMark: 1000}}, 0, NewSensor(f.read))
	require.NoError(t, err)
	all := stress(l, base, stressCalls(), func(now time.Duration) { // set the limit far more often than the sensor would
		l.state.Load().setLimit(3 + int64(now)%n)
	})
	requireBound(t, all, n, per)
	w := &l.state.Load().window
	require.Equal(t, w.cur.Load(), w.tokens())
}
