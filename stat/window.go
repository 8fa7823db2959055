package stat

import (
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	minBucket   = time.Microsecond
	maxBuckets  = 4096
	maxCounters = 64
	// lastBucket is the highest bucket number: 142 years of 1µs buckets. Later times count as it.
	lastBucket = 1<<52 - 1
)

// A Window counts events of several kinds ("counters") over a sliding length of time, cut
// into buckets. Each counter of a bucket is one word that carries the bucket's number (24
// bits) beside its count (40 bits), so that an addition is one atomic operation, needs no
// lock at the roll, and is either in the bucket its time belongs to or reported late, never in a
// wrong one and never lost.
//
// An addition is late when a later bucket of the same counter has taken its bucket's place, or
// when Reset has closed its bucket; it may be when it is more than 2^22 buckets behind the
// latest one seen. Less than the window's length behind the latest one it is never late.
//
// All methods are safe for concurrent use. A counter outside [0, counters) is ignored:
// nothing is added to it and it reads as zero. The zero Window has no counters; NewWindow
// makes a ready one, Init makes one of a struct's field.
type Window struct {
	// words holds buckets × counters words (word.go), those of a bucket side by side; then
	// one sum per counter of what left the window, then one of what came late (total.go).
	words []atomic.Uint64

	width      time.Duration // of a bucket
	perWidth   uint64        // with widthShift: the reciprocal of width, see Bucket
	perBuckets uint64        // the reciprocal of buckets, see place

	moves atomic.Uint64 // moves of counts between words: begun and ended, see beginMove
	era   atomic.Int32  // the era that the words' numbers are read in, see era.go

	buckets    uint16
	counters   uint8
	widthShift uint8
}

// NewWindow returns a window of buckets × bucket in length with the given number of
// counters. It panics unless bucket ≥ 1µs, 1 ≤ buckets ≤ 4096 and 1 ≤ counters ≤ 64.
// It takes 8 × counters × (buckets + 2) + 64 bytes.
func NewWindow(bucket time.Duration, buckets, counters int) *Window {
	w := new(Window)
	w.Init(bucket, buckets, counters)
	return w
}

// Init is NewWindow for a Window that is a field of another struct, which saves a pointer
// on the way to it. It must come before any other use of the window, once.
func (w *Window) Init(bucket time.Duration, buckets, counters int) {
	if bucket < minBucket || buckets < 1 || buckets > maxBuckets || counters < 1 || counters > maxCounters {
		panic(fmt.Sprintf("stat: window of %d buckets of %v with %d counters: want 1 to %d buckets of at least %v, 1 to %d counters",
			buckets, bucket, counters, maxBuckets, minBucket, maxCounters))
	}
	w.words = make([]atomic.Uint64, (buckets+2)*counters)
	w.width = bucket
	w.buckets = uint16(buckets)
	w.counters = uint8(counters)

	// With s = ⌈log2 width⌉, perWidth = ⌊2^(63+s) / width⌋ + 1 is above the true value by at
	// most width ≤ 2^s, which a now < 2^63 cannot raise to a whole one.
	shift := uint(bits.Len64(uint64(bucket) - 1))
	quotient, _ := bits.Div64(1<<(shift-1), 0, uint64(bucket))
	w.perWidth = quotient + 1
	w.widthShift = uint8(shift - 1)
	// ⌈2^64 / buckets⌉, which wraps to 0 for one bucket.
	w.perBuckets = ^uint64(0)/uint64(buckets) + 1
}

// Length returns the window's length, at most the longest duration there is.
func (w *Window) Length() time.Duration {
	if w.buckets > 0 && w.width > math.MaxInt64/time.Duration(w.buckets) {
		return math.MaxInt64
	}
	return w.width * time.Duration(w.buckets)
}

// Bucket returns the number of the bucket that now falls into, for AddAt. Taking it once
// serves several additions of one call.
func (w *Window) Bucket(now time.Duration) int64 {
	quotient, _ := bits.Mul64(uint64(max(now, 0)), w.perWidth) // now / width without the division
	return int64(quotient >> (w.widthShift & 63))
}

// bucketAt is Bucket for methods that do not check the bucket against the era first.
func (w *Window) bucketAt(now time.Duration) int64 { return min(w.Bucket(now), lastBucket) }

// place returns bucket mod buckets, the bucket's place in the ring, for a bucket up to
// lastBucket: the product's low half is the fraction of bucket / buckets, exact enough
// while bucket × buckets ≤ 2^64.
func (w *Window) place(bucket uint64) int {
	place, _ := bits.Mul64(bucket*w.perBuckets, uint64(w.buckets))
	return int(place)
}

// Add adds n to a counter at time now, and reports whether the bucket of now was still in the
// window: a late addition is counted in Late and in Total only.
//
// An n below 0 counts as 0, one above 2^40-1 as that. What would take a bucket's count past
// 2^40-1 is counted in Total only.
func (w *Window) Add(now time.Duration, counter int, n int64) bool {
	return w.AddAt(w.Bucket(now), counter, n)
}

// AddAt is Add with the bucket's number.
func (w *Window) AddAt(bucket int64, counter int, n int64) bool {
	b := uint64(bucket)
	// A bucket below 0 or above lastBucket is in no era that can be in force.
	if b>>eraBits == uint64(w.era.Load()) && uint(counter) < uint(w.counters) && uint64(n) < quickCount {
		word := &w.words[w.place(b)*int(w.counters)+counter]
		if (word.Load()^b)&(numberMask|crowded) == 0 {
			after := word.Add(uint64(n) << numberBits)
			if (after^b)&numberMask == 0 {
				return true
			}
			w.takeBack(word, counter, after, uint64(n))
			return false
		}
	}
	return w.addSlow(bucket, counter, n)
}
