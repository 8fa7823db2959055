package stat

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests below take one goroutine's steps apart, to stop it where a race could, which racing
// goroutines on few processors seldom do.

const testWidth = 100 * time.Millisecond

// stray adds n to the counter's word of a bucket as AddAt does that has found its bucket's
// number there just before the word got another one.
func (w *Window) stray(bucket int64, counter int, n uint64) (word *atomic.Uint64, after uint64) {
	word = &w.words[w.place(uint64(bucket))*int(w.counters)+counter]
	return word, word.Add(n << numberBits)
}

func TestAStrayAdditionIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, buckets := range []int{1, 2, 3, 10} {
		ring := int64(buckets)
		sum := func(w *Window, bucket int64) int64 { return w.Sum(time.Duration(bucket)*testWidth, 1) }
		for name, between := range map[string]func(w *Window){
			"at once":                    func(*Window) {},
			"after more additions":       func(w *Window) { w.AddAt(ring, 1, 20) },
			"after the next roll":        func(w *Window) { w.AddAt(2*ring, 1, 20) },
			"after two more rolls":       func(w *Window) { w.AddAt(2*ring, 1, 20); w.AddAt(3*ring, 1, 1) },
			"after a reset":              func(w *Window) { w.Reset(time.Duration(ring) * testWidth) },
			"after a reset and a roll":   func(w *Window) { w.Reset(time.Duration(ring) * testWidth); w.AddAt(2*ring, 1, 20) },
			"after the next era's sweep": func(w *Window) { w.AddAt(1<<eraBits, 0, 1) },
			"after a jump of eras":       func(w *Window) { w.AddAt(9<<eraBits, 0, 1) },
		} {
			t.Run(name, func(t *testing.T) {
				play := func(withStray bool) *Window {
					w := NewWindow(testWidth, buckets, 2)
					w.AddAt(0, 1, 3)
					w.AddAt(ring, 1, 4) // bucket 0 has rolled
					if !withStray {
						between(w)
						return w
					}
					word, after := w.stray(0, 1, 7)
					between(w)
					w.takeBack(word, 1, after, 7)
					return w
				}
				want, got := play(false), play(true)
				require.EqualValues(t, 7, got.Late(1))
				require.Equal(t, want.Total(1)+7, got.Total(1))
				for bucket := range 4 * ring {
					require.Equal(t, sum(want, bucket), sum(got, bucket), "the window that ends with bucket %d", bucket)
				}
				require.Equal(t, want.words[:want.live()], got.words[:got.live()])
			})
		}
	}
}

// After two resets within one bucket the word's number must not be the one that a stray
// addition saw, or what others added since would be taken in its place.
func TestAStrayAdditionAcrossResets(t *testing.T) {
	t.Parallel()
	w := NewWindow(testWidth, 10, 1)
	w.AddAt(10, 0, 1)
	w.Reset(10 * testWidth)
	word, after := w.stray(10, 0, 5) // lands in the emptied word
	w.AddAt(10, 0, 1)
	w.Reset(10 * testWidth)
	other, afterOther := w.stray(10, 0, 7)
	w.takeBack(word, 0, after, 5)
	w.takeBack(other, 0, afterOther, 7)
	require.Zero(t, w.Sum(10*testWidth, 0))
	w.AddAt(10, 0, 2)
	require.EqualValues(t, 2, w.Sum(10*testWidth, 0))
	require.EqualValues(t, 12, w.Late(0))
	require.EqualValues(t, 16, w.Total(0))
}

// While a count is out of its word and not yet in the retired sum, Total waits.
func TestTotalWaitsForMoves(t *testing.T) {
	t.Parallel()
	w := NewWindow(testWidth, 2, 2)
	w.AddAt(0, 1, 5)
	word := &w.words[1]

	w.beginMove()
	require.True(t, word.CompareAndSwap(makeWord(0, 5), makeWord(2, 0)))
	total := make(chan int64)
	go func() { total <- w.Total(1) }()
	for range 100 {
		runtime.Gosched()
		select {
		case got := <-total:
			t.Fatalf("Total did not wait: %d", got)
		default:
		}
	}
	w.retired(1).Add(5)
	w.endMove()
	require.EqualValues(t, 5, <-total)
}

// A move that begins and ends while Total reads must not be missed.
func TestTotalSeesAMoveInBetween(t *testing.T) {
	t.Parallel()
	w := NewWindow(testWidth, 2, 1)
	before := w.moves.Load()
	w.AddAt(0, 0, 5)
	require.Equal(t, before, w.moves.Load(), "an addition to an open bucket moves nothing")
	w.AddAt(2, 0, 5)
	require.NotEqual(t, before, w.moves.Load())
	require.Zero(t, w.moves.Load()&movesBegun)
	before = w.moves.Load()
	w.Reset(3 * testWidth)
	require.NotEqual(t, before, w.moves.Load())
	require.Zero(t, w.moves.Load()&movesBegun)
}

// Whoever finds a jump announced finishes it, whatever its own time.
func TestAnAnnouncedJumpIsFinishedByAnyone(t *testing.T) {
	t.Parallel()
	for _, bucket := range []int64{0, 5<<eraBits - 1, 5 << eraBits, 6 << eraBits, 60 << eraBits} {
		w := NewWindow(testWidth, 3, 2)
		for b := range int64(3) {
			w.AddAt(b, 1, 10)
		}
		w.era.Store(^5)
		require.Zero(t, w.Sum(0, 1), "nothing of before the jump is in any window")
		inTime := w.AddAt(bucket, 1, 1)
		require.Equal(t, bucket >= firstBucket(5), inTime)
		require.EqualValues(t, max(5, eraOf(bucket)), w.era.Load())
		require.EqualValues(t, 31, w.Total(1))
		require.True(t, w.AddAt(w.Bucket(testWidth*(61<<eraBits)), 1, 1))
	}
}

// In an era, buckets from the start of the one before it are open, and no earlier ones.
func TestWhatAnEraLeavesOpen(t *testing.T) {
	t.Parallel()
	w := NewWindow(testWidth, 10, 1)
	require.True(t, w.AddAt(800<<eraBits, 0, 1))
	require.False(t, w.AddAt(799<<eraBits-1, 0, 1))
	require.True(t, w.AddAt(799<<eraBits+1, 0, 1))
}

// A goroutine that was stopped in a sweep must change nothing when it goes on in a later era.
func TestALateSweepChangesNothing(t *testing.T) {
	t.Parallel()
	for _, late := range []struct{ inForce, next int32 }{{0, 1}, {^4, 4}} {
		w := NewWindow(testWidth, 3, 1)
		w.AddAt(8<<eraBits, 0, 1)
		w.AddAt(8<<eraBits+1, 0, 1)
		w.sweep(late.inForce, late.next)
		require.EqualValues(t, 8, w.era.Load())
		require.EqualValues(t, 2, w.Sum(testWidth*(8<<eraBits+1), 0))
	}
}

// What an era's sweep leaves must read the same in the era before and in its own.
func TestNumbersReadTheSameInNeighbouringEras(t *testing.T) {
	t.Parallel()
	for era := int32(0); era < 1<<29; era = era*3 + 1 {
		for _, bucket := range []int64{resting(era), firstBucket(era), firstBucket(era + 1), firstBucket(era + 2), firstBucket(era+2) - 1} {
			require.Equal(t, bucket, bucketOf(makeWord(bucket, 12345), era))
		}
		for _, bucket := range []int64{resting(era + 1), firstBucket(era + 1), firstBucket(era+2) - 1, firstBucket(era+3) - 1} {
			require.Equal(t, bucket, bucketOf(makeWord(bucket, 0), era), "before the sweep")
			require.Equal(t, bucket, bucketOf(makeWord(bucket, 0), era+1), "after it")
		}
		require.Less(t, resting(era), firstBucket(era))
		require.NotEqual(t, uint64(resting(era))&numberMask, uint64(resting(era+4))&numberMask)
	}
}

// The last bucket that a sweep takes has the number that it gives to emptied words.
func TestASweepTakesTheBucketOfItsOwnNumber(t *testing.T) {
	const era = 1 << eraBits
	w := NewWindow(minBucket, 2, 1)
	require.True(t, w.AddAt(era, 0, 0))
	require.True(t, w.AddAt(era-1, 0, 1))
	require.EqualValues(t, 1, w.Sum(era*minBucket, 0))
	require.Equal(t, resting(2), int64(era-1))
	require.True(t, w.AddAt(2*era, 0, 0))
	require.Zero(t, w.Sum(era*minBucket, 0))
	require.EqualValues(t, 1, w.Total(0))
}
