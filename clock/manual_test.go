package clock_test

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/clock"
)

func TestManualNow(t *testing.T) {
	t.Parallel()
	m := clock.NewManual()
	require.Zero(t, m.Now())
	m.Advance(time.Second)
	m.Advance(0)
	require.Equal(t, time.Second, m.Now())
	m.Advance(-time.Hour)
	require.Equal(t, time.Second, m.Now(), "never goes back")
	m.Advance(math.MaxInt64)
	require.Equal(t, time.Duration(math.MaxInt64), m.Now())
	m.Advance(1)
	require.Equal(t, time.Duration(math.MaxInt64), m.Now())
}

func TestManualWall(t *testing.T) {
	t.Parallel()
	m := clock.NewManual()
	m.Advance(time.Hour)
	require.Equal(t, "2000-01-01T00:00:01Z", m.Wall(time.Second).Format(time.RFC3339))
}

func TestManualTimer(t *testing.T) {
	t.Parallel()
	m := clock.NewManual()
	m.Advance(time.Second)
	timer := m.NewTimer(2 * time.Second)
	require.Equal(t, 1, m.Waiters())
	m.Advance(2*time.Second - 1)
	require.Empty(t, timer.C())
	m.Advance(time.Hour)
	require.Equal(t, 3*time.Second, <-timer.C(), "the due reading, however far the clock went")
	require.Zero(t, m.Waiters())
	require.False(t, timer.Stop(), "has fired")
	m.Advance(time.Hour)
	require.Empty(t, timer.C(), "fires once")
}

func TestManualTimerFiresAtOnce(t *testing.T) {
	t.Parallel()
	m := clock.NewManual()
	m.Advance(time.Second)
	for _, d := range []time.Duration{0, -1, math.MinInt64} {
		timer := m.NewTimer(d)
		require.Equal(t, time.Second, <-timer.C())
		require.False(t, timer.Stop())
	}
	require.Zero(t, m.Waiters())
}

func TestManualAfterFuncOfZeroWaitsForTheNextAdvance(t *testing.T) {
	t.Parallel()
	m := clock.NewManual()
	var calls []time.Duration
	var mu sync.Mutex // what callers may hold while they make a timer
	note := func() {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, m.Now())
	}
	mu.Lock()
	m.AfterFunc(0, note)
	m.AfterFunc(-time.Hour, note)
	mu.Unlock()
	require.Empty(t, calls)
	m.Advance(0)
	require.Equal(t, []time.Duration{0, 0}, calls)

	m.AfterFunc(time.Second, func() { m.AfterFunc(0, note) })
	m.Advance(time.Minute)
	require.Equal(t, []time.Duration{0, 0, time.Second}, calls, "in the same Advance")
}

func TestManualStop(t *testing.T) {
	t.Parallel()
	m := clock.NewManual()
	timer := m.NewTimer(time.Second)
	f := m.AfterFunc(time.Second, func() { t.Error("called") })
	require.Nil(t, f.C())
	require.True(t, timer.Stop())
	require.True(t, f.Stop())
	require.False(t, timer.Stop(), "was stopped before")
	require.Zero(t, m.Waiters())
	m.Advance(time.Hour)
	require.Empty(t, timer.C())
}

func TestManualStopFromAFiringTimer(t *testing.T) {
	t.Parallel()
	m := clock.NewManual()
	var first, second clock.Timer
	first = m.AfterFunc(time.Second, func() {
		require.False(t, first.Stop(), "it is firing")
		require.True(t, second.Stop(), "due at the same reading, but later in order")
	})
	second = m.AfterFunc(time.Second, func() { t.Error("called") })
	m.Advance(time.Second)
}

func TestManualAdvanceWithinAdvance(t *testing.T) {
	t.Parallel()
	m := clock.NewManual()
	var order []string
	m.AfterFunc(time.Second, func() {
		order = append(order, "a")
		m.Advance(3 * time.Second)
		require.Equal(t, 4*time.Second, m.Now())
	})
	m.AfterFunc(2*time.Second, func() { order = append(order, "b") })
	m.AfterFunc(10*time.Second, func() { order = append(order, "c") })
	m.Advance(2 * time.Second)
	require.Equal(t, 4*time.Second, m.Now(), "the inner one went further")
	m.Advance(6 * time.Second)
	require.Equal(t, 10*time.Second, m.Now())
	require.Equal(t, []string{"a", "b", "c"}, order)
}

func TestManualIsFineAfterAPanic(t *testing.T) {
	t.Parallel()
	m := clock.NewManual()
	m.AfterFunc(time.Second, func() { panic("ouch") })
	later := m.NewTimer(2 * time.Second)
	require.PanicsWithValue(t, "ouch", func() { m.Advance(time.Minute) })
	require.Equal(t, time.Second, m.Now())
	m.Advance(time.Second)
	require.Equal(t, 2*time.Second, <-later.C())
}

func TestManualBlockUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := clock.NewManual()
		m.BlockUntil(0)
		var woken atomic.Bool
		go func() {
			m.BlockUntil(2)
			woken.Store(true)
		}()
		m.NewTimer(time.Second)
		synctest.Wait()
		require.False(t, woken.Load())
		m.AfterFunc(time.Second, func() {})
		synctest.Wait()
		require.True(t, woken.Load())
	})
}

func TestManualBlockUntilWakesEveryoneItShould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := clock.NewManual()
		var woken atomic.Int32
		for n := 3; n > 0; n-- {
			go func() {
				m.BlockUntil(n)
				woken.Add(1)
			}()
			synctest.Wait()
		}
		for n := range int32(3) {
			m.NewTimer(time.Second)
			synctest.Wait()
			require.Equal(t, n+1, woken.Load())
		}
	})
}

// Timers made, stopped and waited for in any order fire as a list sorted by due reading and age says.
func TestManualAgainstSortedList(t *testing.T) {
	t.Parallel()
	type entry struct {
		id    int
		due   time.Duration
		timer clock.Timer
	}
	rapid.Check(t, func(t *rapid.T) {
		m := clock.NewManual()
		var pending []entry // in the order they were made
		var fired, want []int
		var now time.Duration
		made := 0
		t.Repeat(map[string]func(*rapid.T){
			"make": func(t *rapid.T) {
				id, due := made, now+time.Duration(rapid.IntRange(0, 20).Draw(t, "d"))
				made++
				timer := m.AfterFunc(due-now, func() {
					fired = append(fired, id)
					require.Equal(t, max(now, due), m.Now())
				})
				pending = append(pending, entry{id, due, timer})
			},
			"stop": func(t *rapid.T) {
				if len(pending) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(pending)-1).Draw(t, "i")
				require.True(t, pending[i].timer.Stop())
				pending = slices.Delete(pending, i, i+1)
			},
			"advance": func(t *rapid.T) {
				d := time.Duration(rapid.IntRange(-2, 10).Draw(t, "d"))
				slices.SortStableFunc(pending, func(a, b entry) int { return int(a.due - b.due) })
				for len(pending) > 0 && pending[0].due <= now+max(d, 0) {
					want = append(want, pending[0].id)
					pending = pending[1:]
				}
				slices.SortFunc(pending, func(a, b entry) int { return a.id - b.id })
				m.Advance(d)
				now += max(d, 0)
			},
			"": func(t *rapid.T) {
				require.Equal(t, now, m.Now())
				require.Equal(t, want, fired)
				require.Equal(t, len(pending), m.Waiters())
			},
		})
	})
}

// Every timer either fires, once and not early, or was stopped, whoever advances, stops and makes timers at a time;
// and the clock never goes back.
func TestManualConcurrentUse(t *testing.T) {
	t.Parallel()
	const goroutines, each = 8, 2000
	m := clock.NewManual()
	var fired, stopped atomic.Int64
	var workers sync.WaitGroup
	for worker := range goroutines {
		workers.Go(func() {
			var last time.Duration
			for i := range each {
				due := m.Now() + time.Duration(i%7)
				timer := m.AfterFunc(time.Duration(i%7), func() {
					fired.Add(1)
					if now := m.Now(); now < due {
						t.Errorf("due at %d, fired at %d", due, now)
					}
				})
				if (i+worker)%3 == 0 && timer.Stop() {
					stopped.Add(1)
				}
				m.Advance(time.Duration(i % 3))
				if now := m.Now(); now < last {
					t.Errorf("the clock went from %d to %d", last, now)
				} else {
					last = now
				}
			}
		})
	}
	workers.Wait()
	m.Advance(time.Second)
	require.Zero(t, m.Waiters())
	require.EqualValues(t, goroutines*each, fired.Load()+stopped.Load())
}
