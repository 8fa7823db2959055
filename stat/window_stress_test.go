package stat_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/stat"
)

const stressCounters = 2

// A storm is racing additions to one window, whose time the adding goroutines move on themselves.
type storm struct {
	window    *stat.Window
	width     time.Duration
	buckets   int
	adds      int                         // of each goroutine
	step      func(i int) (buckets int64) // how far the i-th addition of a goroutine moves the time on
	resetEach int                         // additions of a goroutine between two resets, or 0

	clock atomic.Int64 // in buckets
}

const stormGoroutines = 16

// A tally is what one goroutine added to one counter.
type tally struct {
	inTime map[int64]int64 // by bucket
	added  int64
	late   int64
}

// run lets the goroutines add while an observer watches the totals, and checks that all that was added is there.
func (s *storm) run(t *testing.T) {
	s.window = stat.NewWindow(s.width, s.buckets, stressCounters)
	tallies := make([][stressCounters]tally, stormGoroutines)
	stop := make(chan struct{})
	var workers, observer sync.WaitGroup
	observer.Go(func() { s.observe(t, stop) })
	for i := range tallies {
		workers.Go(func() { tallies[i] = s.work(i) })
	}
	workers.Wait()
	close(stop)
	observer.Wait()
	for counter := range stressCounters {
		s.check(t, counter, tallies)
	}
	s.checkAlive(t)
}

func (s *storm) work(worker int) (tallies [stressCounters]tally) {
	for counter := range tallies {
		tallies[counter].inTime = make(map[int64]int64)
	}
	for i := 0; i < s.adds; {
		bucket := s.clock.Load()
		var inTime [stressCounters]int64
		for range 8 { // a reading may be old by the time it is used
			counter, n := i%stressCounters, int64(i%3)
			if s.window.AddAt(bucket, counter, n) {
				inTime[counter] += n
			} else {
				tallies[counter].late += n
			}
			tallies[counter].added += n
			i++
			s.clock.Add(s.step(i))
		}
		for counter, n := range inTime {
			tallies[counter].inTime[bucket] += n
		}
		if s.resetEach > 0 && (i+worker*8)%s.resetEach < 8 {
			s.window.Reset(time.Duration(bucket) * s.width)
		}
	}
	return tallies
}

// observe checks that no total and no late sum ever goes back.
func (s *storm) observe(t *testing.T, stop <-chan struct{}) {
	var total, late [stressCounters]int64
	for {
		select {
		case <-stop:
			return
		default:
		}
		for counter := range stressCounters {
			nowTotal, nowLate := s.window.Total(counter), s.window.Late(counter)
			if nowTotal < total[counter] || nowLate < late[counter] {
				t.Errorf("counter %d: total went from %d to %d, late from %d to %d",
					counter, total[counter], nowTotal, late[counter], nowLate)
				return
			}
			total[counter], late[counter] = nowTotal, nowLate
		}
		runtime.Gosched()
	}
}

func (s *storm) check(t *testing.T, counter int, tallies [][stressCounters]tally) {
	var added, late int64
	for i := range tallies {
		added += tallies[i][counter].added
		late += tallies[i][counter].late
	}
	require.Equal(t, added, s.window.Total(counter), "all that was added")
	require.Equal(t, late, s.window.Late(counter), "what came late")
	if s.resetEach > 0 {
		return
	}
	last := s.clock.Load()
	bucket := max(last-int64(s.buckets)+1, 0)
	s.window.Each(time.Duration(last)*s.width, func(_ time.Duration, counts []int64) {
		var inTime int64
		for i := range tallies {
			inTime += tallies[i][counter].inTime[bucket]
		}
		require.Equal(t, inTime, counts[counter], "bucket %d of the last, %d", bucket, last)
		bucket++
	})
}

// checkAlive checks that every place of the ring still takes additions.
func (s *storm) checkAlive(t *testing.T) {
	last := s.clock.Load()
	for i := range int64(s.buckets) {
		require.True(t, s.window.AddAt(last+1+i, 0, 1))
	}
	now := time.Duration(last+int64(s.buckets)) * s.width
	require.EqualValues(t, s.buckets, s.window.Sum(now, 0))
}

// every returns a step of one bucket each n additions of a goroutine.
func every(n int) func(int) int64 {
	return func(i int) int64 {
		if i%n == 0 {
			return 1
		}
		return 0
	}
}

func TestRacingAdditionsOverManyRolls(t *testing.T) {
	t.Parallel()
	adds := 30_000_000
	if raceEnabled {
		adds = 200_000
	} else if testing.Short() {
		adds = 3_000_000
	}
	s := storm{width: 50 * time.Microsecond, buckets: 8, adds: adds / stormGoroutines, step: every(500)}
	s.run(t)
	t.Logf("%d additions over %d rolls, %d late", adds, s.clock.Load(), s.window.Late(0)+s.window.Late(1))
}

// All buckets of the run are still in the window at its end, so that each one's count is checked.
func TestRacingAdditionsAreInTheirBuckets(t *testing.T) {
	t.Parallel()
	s := storm{width: 50 * time.Microsecond, buckets: 4096, adds: 50_000, step: every(200)}
	if raceEnabled {
		s.adds = 5000
	}
	s.run(t)
	require.Less(t, s.clock.Load(), int64(4096))
	require.Zero(t, s.window.Late(0))
}

func TestRacingAdditionsToOneBucket(t *testing.T) {
	t.Parallel()
	s := storm{width: time.Microsecond, buckets: 1, adds: 50_000, step: every(10)}
	if raceEnabled {
		s.adds = 5000
	}
	s.run(t)
}

// The time jumps by eras, so that racing goroutines sweep the window; some of them with resets in between.
func TestRacingAdditionsOverEras(t *testing.T) {
	t.Parallel()
	jumps := []int64{1, 2, 3, 4, 5, 8}
	for _, resetEach := range []int{0, 160} {
		for _, buckets := range []int{1, 2, 10} {
			s := storm{
				width: time.Microsecond, buckets: buckets, adds: 20_000, resetEach: resetEach,
				step: func(i int) int64 {
					if i%1000 == 0 {
						return jumps[i/1000%len(jumps)] * eraBuckets
					}
					return every(20)(i)
				},
			}
			if raceEnabled {
				s.adds = 4000
			}
			s.run(t)
		}
	}
}
