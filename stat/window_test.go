package stat_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/stat"
)

const ms = time.Millisecond

func TestNewWindowPanicsOnBadLayout(t *testing.T) {
	t.Parallel()
	for _, layout := range []struct {
		bucket            time.Duration
		buckets, counters int
		want              string
	}{
		{time.Microsecond - 1, 10, 1, "999ns"},
		{-time.Second, 10, 1, "-1s"},
		{time.Second, 0, 1, "0 buckets"},
		{time.Second, 4097, 1, "4097 buckets"},
		{time.Second, 10, 0, "0 counters"},
		{time.Second, 10, 65, "65 counters"},
	} {
		t.Run(layout.want, func(t *testing.T) {
			t.Parallel()
			defer func() { require.Contains(t, fmt.Sprint(recover()), layout.want) }()
			stat.NewWindow(layout.bucket, layout.buckets, layout.counters)
			t.Error("no panic")
		})
	}
	require.NotPanics(t, func() { stat.NewWindow(time.Microsecond, 4096, 64) })
	require.NotPanics(t, func() { stat.NewWindow(math.MaxInt64, 1, 1) })
}

// The number of a bucket is found without a division. Every width and time must come out as with one.
func TestBucketIsTheQuotient(t *testing.T) {
	t.Parallel()
	widths := []time.Duration{1000, 1001, 1023, 1024, 1025, 4095, 1e6, 1e8, 1e9, 7e9 + 1, 1 << 40, 1<<40 + 1, math.MaxInt64/2 + 1, math.MaxInt64 - 1, math.MaxInt64}
	for _, width := range widths {
		w := stat.NewWindow(width, 1, 1)
		for _, k := range []int64{0, 1, 2, 3, 1000, 1<<22 - 1, 1 << 24, 1 << 31, 1 << 32, math.MaxInt64 / int64(width)} {
			if k > math.MaxInt64/int64(width) {
				continue
			}
			for _, now := range []time.Duration{width*time.Duration(k) - 1, width * time.Duration(k), width*time.Duration(k) + 1, math.MaxInt64} {
				require.Equal(t, int64(max(now, 0)/width), w.Bucket(now), "width %d, now %d", width, now)
			}
		}
		require.Zero(t, w.Bucket(-1))
		require.Zero(t, w.Bucket(math.MinInt64))
	}
}

// Every bucket of a ring of every size has its own place, whatever its number.
func TestBucketsHaveTheirOwnPlaces(t *testing.T) {
	t.Parallel()
	for buckets := 1; buckets <= 4096; buckets = buckets*5/4 + 1 {
		for _, first := range []int64{0, 1 << 20, 1<<24 - 7, 1<<40 + 12345, 1<<52 - 4096} {
			w := stat.NewWindow(time.Microsecond, buckets, 1)
			for i := range int64(buckets) {
				require.True(t, w.AddAt(first+i, 0, i+1))
			}
			want := int64(buckets) * (int64(buckets) + 1) / 2
			require.Equal(t, want, w.Sum(time.Duration(first+int64(buckets)-1)*time.Microsecond, 0), "%d buckets from %d", buckets, first)
		}
	}
}

func TestTheZeroWindowCountsNothing(t *testing.T) {
	t.Parallel()
	var w stat.Window
	require.False(t, w.Add(time.Second, 0, 1))
	w.Reset(time.Second)
	w.Sums(time.Second, nil)
	w.Each(time.Second, func(time.Duration, []int64) { t.Error("a bucket") })
	require.Zero(t, w.Sum(time.Second, 0)+w.Total(0)+w.Late(0)+int64(w.Length()))
}

func TestCountersOutOfRangeAreIgnored(t *testing.T) {
	t.Parallel()
	w := stat.NewWindow(100*ms, 10, 2)
	for _, counter := range []int{-1, 2, math.MinInt, math.MaxInt} {
		require.False(t, w.Add(0, counter, 5))
		require.Zero(t, w.Sum(0, counter)+w.Total(counter)+w.Late(counter))
	}
	long, short := make([]int64, 5), make([]int64, 1)
	w.Add(0, 0, 3)
	w.Add(0, 1, 4)
	w.Sums(0, long)
	w.Sums(0, short)
	require.Equal(t, []int64{3, 4, 0, 0, 0}, long)
	require.Equal(t, []int64{3}, short)
	w.Sums(0, short)
	require.Equal(t, []int64{6}, short, "Sums adds")
}

func TestLength(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Second, stat.NewWindow(100*ms, 10, 1).Length())
	require.Equal(t, time.Duration(math.MaxInt64), stat.NewWindow(math.MaxInt64/2, 3, 1).Length())
}

// faults #1: a reading that goes back, by however much, stops nothing and is counted.
func TestATimeThatGoesBackIsCounted(t *testing.T) {
	t.Parallel()
	w := stat.NewWindow(500*ms, 2, 1)
	const start = 100 * time.Hour
	require.True(t, w.Add(start, 0, 1))
	for range 50 {
		w.Add(start-time.Hour, 0, 1)
	}
	require.EqualValues(t, 51, w.Total(0))
	require.EqualValues(t, 1, w.Sum(start, 0))
	require.True(t, w.Add(start+1, 0, 1))
	require.EqualValues(t, 2, w.Sum(start+1, 0))
}

// faults #2: a call that was stamped before the roll and is counted after it.
func TestAnAdditionFromBeforeTheRoll(t *testing.T) {
	t.Parallel()
	for buckets := 1; buckets <= 3; buckets++ {
		w := stat.NewWindow(time.Second, buckets, 1)
		require.True(t, w.Add(2*time.Second, 0, 1))
		inTime := w.Add(1999*ms, 0, 1)
		require.EqualValues(t, 2, w.Total(0))
		require.Equal(t, buckets > 1, inTime)
		if inTime {
			require.EqualValues(t, 2, w.Sum(2*time.Second, 0))
			require.EqualValues(t, 0, w.Late(0))
		} else {
			require.EqualValues(t, 1, w.Sum(2*time.Second, 0))
			require.EqualValues(t, 1, w.Late(0))
		}
	}
}

// faults #3: readings beyond what 32 bits hold, up to the last there is. GOARCH=386 runs this too.
func TestReadingsOfAnySize(t *testing.T) {
	t.Parallel()
	for _, width := range []time.Duration{time.Microsecond, ms, 500 * ms, time.Hour} {
		for _, now := range []time.Duration{
			1 << 31, 1<<31*ms - 1, 1 << 32 * ms, 1_750_000_000_000 * ms, math.MaxInt64 - 1, math.MaxInt64,
		} {
			w := stat.NewWindow(width, 3, 2)
			require.True(t, w.Add(now, 1, 7))
			require.EqualValues(t, 7, w.Sum(now, 1))
			require.True(t, w.Add(now-width, 1, 1))
			require.EqualValues(t, 8, w.Sum(now, 1))
			require.EqualValues(t, 8, w.Total(1))
		}
	}
	w := stat.NewWindow(ms, 3, 1)
	for _, bucket := range []int64{math.MinInt64, -1, 1 << 31, 1 << 52, 1 << 54, math.MaxInt64} {
		require.True(t, w.AddAt(bucket, 0, 1))
	}
	require.EqualValues(t, 6, w.Total(0))
}

// faults #4: a bucket's end follows from its start, not from the last addition.
func TestBucketsDoNotDrift(t *testing.T) {
	t.Parallel()
	w := stat.NewWindow(100*ms, 3, 1)
	w.Add(90*ms, 0, 1)
	w.Add(130*ms, 0, 10)
	require.Equal(t, []string{"0s:[1]", "100ms:[10]", "200ms:[0]"}, bucketsOf(w, 210*ms))
}

func bucketsOf(w *stat.Window, now time.Duration) (buckets []string) {
	w.Each(now, func(start time.Duration, counts []int64) {
		buckets = append(buckets, fmt.Sprintf("%v:%v", start, counts))
	})
	return buckets
}

// faults #5: every counter of a bucket is forgotten with it, so what is derived never goes below zero.
func TestAllCountersLeaveTogether(t *testing.T) {
	t.Parallel()
	const calls, failed, slow, slowFailed, counters = 0, 1, 2, 3, 4
	for buckets := 1; buckets <= 5; buckets++ {
		w := stat.NewWindow(time.Second, buckets, counters)
		for _, counter := range []int{calls, failed, slow, slowFailed} {
			w.Add(0, counter, 1)
		}
		for second := 1; second <= 4; second++ {
			now := time.Duration(second) * time.Second
			w.Add(now, calls, 1)
			gone := second >= buckets
			require.Equal(t, !gone, w.Sum(now, slowFailed) == 1)
			require.Equal(t, w.Sum(now, slow), w.Sum(now, slowFailed))
			require.GreaterOrEqual(t, w.Sum(now, calls)-w.Sum(now, failed), int64(0))
			require.GreaterOrEqual(t, w.Sum(now, slow)-w.Sum(now, slowFailed), int64(0))
		}
	}
}

// faults #36: the window rolls by buckets. A burst of failures weighs what it weighs among all calls of
// the window, also right after a bucket's edge.
func TestTheWindowRollsAndDoesNotStartOver(t *testing.T) {
	t.Parallel()
	const calls, failed = 0, 1
	w := stat.NewWindow(time.Second, 10, 2)
	for now := time.Duration(0); now < 60*time.Second; now += ms {
		w.Add(now, calls, 1)
		if now >= 40*time.Second && now < 41*time.Second {
			w.Add(now, failed, 1)
		}
		if now >= 20*time.Second && now%(10*ms) == 0 {
			require.InDelta(t, 9500, w.Sum(now, calls), 500)
			ratio := float64(w.Sum(now, failed)) / float64(w.Sum(now, calls))
			require.LessOrEqual(t, ratio, 0.112, now) // a bucket's edge: 1 s of 9
		}
	}
	require.EqualValues(t, 1000, w.Total(failed))
}

// A window idle for as long as bucket numbers take to come round must not mistake old counts for new.
func TestIdleForTheRoundOfTheNumbers(t *testing.T) {
	t.Parallel()
	const round = int64(1) << 24
	for _, buckets := range []int{1, 2, 3, 8, 10} {
		for _, idle := range []int64{round / 4, round / 2, round/2 + 1, round - 1, round, round + 1, 2 * round, 3 * round, 5 * round, 1000 * round} {
			for _, start := range []int64{0, 7, round / 8, round/4 - 1} {
				w := stat.NewWindow(time.Microsecond, buckets, 1)
				for bucket := range int64(buckets) {
					require.True(t, w.AddAt(start+bucket, 0, 100))
				}
				then := start + idle*int64(buckets)
				now := time.Duration(then) * time.Microsecond
				require.Zero(t, w.Sum(now, 0), "idle for %d", then-start)
				require.True(t, w.AddAt(then, 0, 1), "idle for %d", then-start)
				require.EqualValues(t, 1, w.Sum(now, 0), "idle for %d", then-start)
				for bucket := range int64(buckets) {
					require.True(t, w.AddAt(then-bucket, 0, 1))
				}
				require.EqualValues(t, 1+buckets, w.Sum(now, 0))
				require.EqualValues(t, 1+101*buckets, w.Total(0))
			}
		}
	}
}

func TestAFullBucketStaysFull(t *testing.T) {
	t.Parallel()
	w := stat.NewWindow(time.Second, 2, 2)
	require.True(t, w.Add(0, 0, math.MaxInt64))
	require.True(t, w.Add(0, 0, 10))
	require.True(t, w.Add(0, 0, maxCount))
	require.EqualValues(t, maxCount, w.Sum(0, 0))
	require.EqualValues(t, 2*maxCount+10, w.Total(0), "Total has all of it")
	require.EqualValues(t, 0, w.Sum(0, 1), "the counter beside it")
	require.True(t, w.Add(time.Second, 0, maxCount/2))
	for range 100 {
		require.True(t, w.Add(time.Second, 0, 1<<36))
	}
	require.EqualValues(t, 2*maxCount, w.Sum(time.Second, 0))
	require.True(t, w.Add(time.Second, 1, -5))
	require.Zero(t, w.Total(1))
}

func TestReset(t *testing.T) {
	t.Parallel()
	for buckets := 1; buckets <= 4; buckets++ {
		w := stat.NewWindow(100*ms, buckets, 1)
		for now := time.Duration(0); now < time.Second; now += 100 * ms {
			w.Add(now, 0, 1)
		}
		w.Reset(950 * ms)
		require.Zero(t, w.Sum(950*ms, 0))
		require.EqualValues(t, 10, w.Total(0))
		require.False(t, w.Add(850*ms, 0, 1), "from before the reset")
		require.Zero(t, w.Sum(950*ms, 0))
		require.True(t, w.Add(951*ms, 0, 1))
		require.EqualValues(t, 1, w.Sum(951*ms, 0))
		w.Reset(952 * ms)
		w.Reset(952 * ms)
		require.Zero(t, w.Sum(952*ms, 0))
		require.True(t, w.Add(1950*ms, 0, 1))
		w.Reset(1100 * ms)
		require.EqualValues(t, 1, w.Sum(1950*ms, 0), "after the reset's time")
		require.EqualValues(t, 13, w.Total(0))
	}
}

func TestEachLeavesOutWhatIsBeforeTheOrigin(t *testing.T) {
	t.Parallel()
	w := stat.NewWindow(100*ms, 10, 1)
	w.Add(-time.Second, 0, 1)
	require.Equal(t, []string{"0s:[1]", "100ms:[0]"}, bucketsOf(w, 150*ms))
	require.Equal(t, []string{"0s:[1]"}, bucketsOf(w, -1))
}

func TestWindowSize(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the sizes are those of 64-bit machines")
	}
	require.EqualValues(t, 64, unsafe.Sizeof(stat.Window{}), "a cache line")
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const windows = 1000
	kept := make([]*stat.Window, windows)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range kept {
		kept[i] = stat.NewWindow(100*ms, 10, 4)
	}
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	require.LessOrEqual(t, (after.TotalAlloc-before.TotalAlloc)/windows, uint64(450))
}

func TestWindowAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w := stat.NewWindow(100*ms, 10, 4)
	var now time.Duration
	sums := make([]int64, 4)
	for name, f := range map[string]func(){
		"Add":      func() { w.Add(now, 1, 1) },
		"Add late": func() { w.Add(now-time.Hour, 1, 1) },
		"AddAt":    func() { w.AddAt(w.Bucket(now), 2, 1) },
		"Sum":      func() { w.Sum(now, 1) },
		"Sums":     func() { w.Sums(now, sums) },
		"Total":    func() { w.Total(1) },
		"Reset":    func() { w.Reset(now) },
	} {
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			now += 10 * ms
			f()
		}), name)
	}
}
