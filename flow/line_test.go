package flow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// requireSmooth checks that no interval holds more than burst + limit·T/per.
func requireSmooth(t require.TestingT, all []admission, burst int64, limit float64, per time.Duration) {
	for _, first := range all {
		for _, last := range all {
			length := last.at - first.at
			if length < 0 {
				continue
			}
			var sum int64
			for _, a := range all {
				if a.at >= first.at && a.at <= last.at {
					sum += a.cost
				}
			}
			bound := float64(burst) + limit*float64(length)/float64(per)
			require.LessOrEqual(t, float64(sum), bound+1e-6, "in %v", length)
		}
	}
}

// TestSmoothModel gives Smooth calls, also late ones, and takes them back, and checks its bound over what stands; with calls
// in order and none taken back it must also admit whatever a float GCRA admits.
func TestSmoothModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		burst := rapid.IntRange(1, 12).Draw(t, "burst")
		limit := rapid.SampledFrom([]float64{0.5, 1, 3, 10, 2001, 1e7}).Draw(t, "limit")
		const per = time.Second
		l := newTestLimiter(t, Rule{Limit: limit, Mode: Smooth, Burst: burst}, 0)
		gap := float64(per) / limit
		now, inOrder, done := time.Duration(0), true, 0.0
		var all []held
		t.Repeat(map[string]func(*rapid.T){
			"pass time": func(t *rapid.T) {
				now += time.Duration(rapid.Float64Range(0, 4).Draw(t, "gaps") * gap)
			},
			"pause": func(t *rapid.T) {
				now += time.Duration(rapid.Float64Range(0, 30).Draw(t, "gaps") * gap)
			},
			"call": func(t *rapid.T) {
				cost := rapid.IntRange(1, burst+1).Draw(t, "cost")
				p, wait, retry, ok := l.Acquire(now, cost)
				require.Zero(t, wait)
				if inOrder {
					end := max(done, float64(now)) + float64(cost)*gap
					if over := end - float64(now) - float64(burst)*gap; over <= -gap/100 {
						require.True(t, ok, "refused although there is room")
					}
					if ok {
						done = end
					}
				}
				switch {
				case ok:
					all = append(all, held{p, admission{now, int64(cost)}})
				case cost > burst:
					require.Equal(t, time.Duration(-1), retry)
				default:
					now += retry
					p, _, _, ok := l.Acquire(now, cost)
					require.True(t, ok, "refused after its retryAfter")
					all = append(all, held{p, admission{now, int64(cost)}})
					done = max(done, float64(now)) + float64(cost)*gap
				}
			},
			"call late": func(t *rapid.T) {
				at := now - time.Duration(rapid.Float64Range(0, 20).Draw(t, "gaps")*gap)
				if p, _, _, ok := l.Acquire(at, 1); ok {
					all, inOrder = append(all, held{p, admission{at, 1}}), false
				}
			},
			"cancel": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip()
				}
				inOrder = false
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				l.Cancel(now, all[i].permit)
				all = append(all[:i], all[i+1:]...)
			},
			"": func(t *rapid.T) {
				all = all[max(0, len(all)-40):]
				var as []admission
				for _, h := range all {
					as = append(as, h.admission)
				}
				requireSmooth(t, as, int64(burst), limit, per)
			},
		})
	})
}

// faults #25: alternating t and t-1s mints nothing.
func TestSmoothReadingsGoBack(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Smooth, Reject} {
		r := Rule{Limit: 10, Mode: mode}
		if mode == Smooth {
			r.Burst = 10
		}
		l := newTestLimiter(t, r, 0)
		passed := 0
		for i := range 2000 {
			if _, _, _, ok := l.Acquire(10*time.Second-time.Duration(i%2)*time.Second, 1); ok {
				passed++
			}
		}
		require.Equal(t, 10, passed, mode)
	}
}

// faults #26: cancelling one of several admissions gives all of it back, as long as nothing of it is worked off.
func TestSmoothCancelGivesBack(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 1, Mode: Smooth, Burst: 32}, 0)
	_, _, _, ok := l.Acquire(0, 20)
	require.True(t, ok)
	ten, _, _, ok := l.Acquire(0, 10)
	require.True(t, ok)
	_, _, _, ok = l.Acquire(0, 2)
	require.True(t, ok)
	_, _, _, ok = l.Acquire(0, 1)
	require.False(t, ok)
	l.Cancel(0, ten)
	require.Equal(t, 22.0, l.Usage(0))
	_, _, _, ok = l.Acquire(0, 10)
	require.True(t, ok)
	_, _, _, ok = l.Acquire(0, 1)
	require.False(t, ok)
}

// faults #19: of 512 callers at one instant exactly one passes when nobody may wait.
func TestPaceOneAtAnInstant(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 100, Mode: Pace}, 0)
	passed := race(512, func(int) bool {
		_, wait, _, ok := l.Acquire(time.Second, 1)
		return ok && wait == 0
	})
	require.Equal(t, 1, passed)
}

// race runs f in n goroutines at once and counts how many return true.
func race(n int, f func(i int) bool) (count int) {
	results := make(chan bool, n)
	start := make(chan struct{})
	for i := range n {
		go func() {
			<-start
			results <- f(i)
		}()
	}
	close(start)
	for range n {
		if <-results {
			count++
		}
	}
	return count
}

// faults #18: rates between and above 1000 per second are kept within 1 %, and never exceeded.
func TestPaceKeepsItsRate(t *testing.T) {
	t.Parallel()
	for _, limit := range []float64{0.5, 1001, 1999, 2004, 3e6, 7e6, 1e7} {
		l := newTestLimiter(t, Rule{Limit: limit, Mode: Pace}, 0)
		seconds := max(1, 20/limit)
		passed, step := 0, time.Duration(1)
		for now := time.Duration(0); now < time.Duration(seconds*1e9); now += step {
			_, _, retry, ok := l.Acquire(now, 1)
			if step = retry; ok {
				passed++
				step = 1
			}
			if passed >= 50_000 {
				seconds = now.Seconds()
				break
			}
		}
		require.InDelta(t, limit*seconds, float64(passed), 1+0.01*limit*seconds, "limit %v", limit)
		require.LessOrEqual(t, float64(passed-1), limit*seconds+1, "limit %v", limit)
	}
}

// faults #13: half a call per second is one per two seconds, in every mode.
func TestHalfACallPerSecond(t *testing.T) {
	t.Parallel()
	for mode := Reject; mode <= WarmUpPace; mode++ {
		l := newTestLimiter(t, Rule{Limit: 0.5, Mode: mode}, 0)
		passed := 0
		for now := time.Duration(0); now < 60*time.Second; now += 10 * time.Millisecond {
			if _, _, _, ok := l.Acquire(now, 1); ok {
				passed++
			}
		}
		if mode == WarmUpPace { // 6s apart at first
			require.InDelta(t, 20, passed, 6, mode)
		} else {
			require.InDelta(t, 30, passed, 1, mode)
		}
	}
}

// faults #20: waits are never negative, and rate 0 refuses all without a division.
func TestZeroLimitRefusesAll(t *testing.T) {
	t.Parallel()
	for mode := Reject; mode <= WarmUpPace; mode++ {
		l := newTestLimiter(t, Rule{Mode: mode}, 0)
		p, wait, retry, ok := l.Acquire(time.Second, 1)
		require.False(t, ok)
		require.Zero(t, wait)
		require.Equal(t, time.Duration(-1), retry)
		require.Equal(t, Permit{}, p)
		l.Cancel(time.Second, p)
		require.Zero(t, l.Usage(time.Second))
		require.Zero(t, l.Limit(time.Second))
		require.True(t, l.Idle(time.Second))
	}
}

// faults #21: a cost above the limit does not pass, neither at first nor after a pause; one within it needs the time for
// it, which a pause counts for.
func TestPaceCosts(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 1000, Mode: Pace, MaxWait: 5 * time.Millisecond}, 0)
	_, _, retry, ok := l.Acquire(0, 5000)
	require.False(t, ok)
	require.Equal(t, time.Duration(-1), retry)
	_, _, retry, ok = l.Acquire(0, 500)
	require.False(t, ok, "at first there is no time yet that it could have taken")
	require.Equal(t, 494*time.Millisecond, retry)
	_, _, _, ok = l.Acquire(10*time.Second, 5000)
	require.False(t, ok)
	_, wait, _, ok := l.Acquire(10*time.Second, 1000)
	require.True(t, ok)
	require.Zero(t, wait)
	_, wait, _, ok = l.Acquire(10*time.Second, 3)
	require.True(t, ok)
	require.Equal(t, 3*time.Millisecond, wait)
}

// TestPaceModel compares promised turns: never closer than the distance, never further than MaxWait, none lost as long as
// turns that were given back can be used.
func TestPaceModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const gap = 10 * time.Millisecond
		maxWait := time.Duration(rapid.IntRange(0, 200).Draw(t, "maxWait")) * time.Millisecond
		l := newTestLimiter(t, Rule{Limit: 100, Mode: Pace, MaxWait: maxWait}, 0)
		now := time.Duration(0)
		var turns []held // at: when the turn is
		t.Repeat(map[string]func(*rapid.T){
			"pass time": func(t *rapid.T) { now += time.Duration(rapid.IntRange(0, 40).Draw(t, "ms")) * time.Millisecond },
			"call": func(t *rapid.T) {
				at := now - time.Duration(rapid.SampledFrom([]int{0, 0, 0, 7, 500}).Draw(t, "late"))*time.Millisecond
				cost := rapid.SampledFrom([]int{1, 1, 1, 1, 2, 5}).Draw(t, "cost")
				p, wait, retry, ok := l.Acquire(at, cost)
				if !ok {
					require.Positive(t, retry)
					if at == now {
						require.LessOrEqual(t, retry, maxWait+time.Duration(cost)*gap)
					}
					return
				}
				require.GreaterOrEqual(t, wait, time.Duration(0))
				require.LessOrEqual(t, wait, maxWait)
				turns = append(turns, held{p, admission{at + wait, int64(cost)}})
			},
			"give up": func(t *rapid.T) {
				if len(turns) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(turns)-1).Draw(t, "which")
				l.Cancel(now, turns[i].permit)
				turns = append(turns[:i], turns[i+1:]...)
			},
			"": func(t *rapid.T) {
				for i, a := range turns {
					for _, b := range turns[:i] {
						first, second := a, b
						if first.at > second.at {
							first, second = b, a
						}
						require.GreaterOrEqual(t, second.at-first.at, time.Duration(second.cost)*gap)
					}
				}
			},
		})
	})
}

// faults #24: a turn that was given back goes to the next caller, wherever in the line it is.
func TestPaceGivesTurnsBack(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 10, Mode: Pace, MaxWait: time.Second}, 0)
	var permits []Permit
	for i := range 11 {
		p, wait, _, ok := l.Acquire(0, 1)
		require.True(t, ok)
		require.Equal(t, time.Duration(i)*100*time.Millisecond, wait)
		permits = append(permits, p)
	}
	_, _, retry, ok := l.Acquire(0, 1)
	require.False(t, ok)
	require.Equal(t, 100*time.Millisecond, retry)
	require.Equal(t, 10.0, l.Usage(0))
	l.Cancel(0, permits[3])
	l.Cancel(0, permits[7])
	require.Equal(t, 8.0, l.Usage(0))
	for _, i := range []int{3, 7} {
		p, wait, _, ok := l.Acquire(0, 1)
		require.True(t, ok)
		require.Equal(t, time.Duration(i)*100*time.Millisecond, wait)
		permits[i] = p
	}
	_, _, _, ok = l.Acquire(0, 1)
	require.False(t, ok)
	for _, p := range permits[1:] { // all who wait give up, the last ones last
		l.Cancel(0, p)
	}
	_, wait, _, ok := l.Acquire(100*time.Millisecond, 1)
	require.True(t, ok)
	require.Zero(t, wait)
	require.False(t, l.Idle(100*time.Millisecond), "the next turn is 100ms later")
	require.True(t, l.Idle(200*time.Millisecond))
}

// TestPaceCancelStress lets callers take and give back turns at one instant: as many as fit stand in the end, each in a
// turn of its own.
func TestPaceCancelStress(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 1000, Mode: Pace, MaxWait: 99 * time.Millisecond}, 0)
	turns := make(chan time.Duration, 64*100)
	race(64, func(g int) bool {
		for i := range 100 {
			p, wait, _, ok := l.Acquire(0, 1)
			if ok && (i+g)%3 > 0 {
				l.Cancel(0, p)
			} else if ok {
				turns <- wait
			}
		}
		return true
	})
	close(turns)
	seen := make(map[time.Duration]bool)
	for turn := range turns {
		require.Zero(t, turn%time.Millisecond)
		require.False(t, seen[turn], "one turn for two calls")
		seen[turn] = true
	}
	for range 200 {
		if _, wait, _, ok := l.Acquire(0, 1); ok {
			require.False(t, seen[wait], "one turn for two calls")
			seen[wait] = true
		}
	}
	require.Len(t, seen, 100, "no turn is lost")
}
