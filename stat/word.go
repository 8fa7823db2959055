package stat

import "sync/atomic"

// A word is a bucket's number in the low 24 bits and the count above them: that way round a count
// that ran over would not run into the number.
const (
	numberBits = 24
	numberMask = 1<<numberBits - 1
	maxCount   = 1<<(64-numberBits) - 1

	// crowded is the count's highest bit. Words that have it, and additions of quickCount or
	// more, take the compare-and-swap that stops at maxCount. The others are so far below it
	// that it would take 2^15 of them, all between AddAt's look and its addition, to reach it.
	crowded    = 1 << 63
	quickCount = 1 << 24
)

func makeWord(bucket int64, count uint64) uint64 {
	return uint64(bucket)&numberMask | count<<numberBits
}

func countOf(word uint64) uint64 { return word >> numberBits }

// live returns how many words belong to buckets.
func (w *Window) live() int { return int(w.buckets) * int(w.counters) }

// retired returns the sum of what left the window in time, late the sum of what came late.
func (w *Window) retired(counter int) *atomic.Uint64 { return &w.words[w.live()+counter] }

func (w *Window) late(counter int) *atomic.Uint64 {
	return &w.words[w.live()+int(w.counters)+counter]
}

// addSlow adds whatever AddAt could not at once: the first addition of a bucket, a late
// one, the first of an era, one out of range.
func (w *Window) addSlow(bucket int64, counter int, n int64) bool {
	if uint(counter) >= uint(w.counters) {
		return false
	}
	count := uint64(min(max(n, 0), maxCount))
	bucket = min(max(bucket, 0), lastBucket)
	word := &w.words[w.place(uint64(bucket))*int(w.counters)+counter]
	for {
		era := w.enter(bucket)
		old := word.Load()
		if w.era.Load() != era {
			continue // old may be of another era
		}
		held := bucketOf(old, era)
		switch {
		case held > bucket || bucket < firstBucket(era):
			w.late(counter).Add(count)
			return false
		case held == bucket:
			kept := min(countOf(old)+count, maxCount)
			if word.CompareAndSwap(old, makeWord(bucket, kept)) {
				w.retired(counter).Add(countOf(old) + count - kept)
				return true
			}
		case w.move(word, counter, old, makeWord(bucket, count)):
			return true
		}
	}
}

// move replaces old by next and adds old's count to the retired sum. It returns false, having
// done nothing, when the word is no longer old.
func (w *Window) move(word *atomic.Uint64, counter int, old, next uint64) bool {
	w.beginMove()
	defer w.endMove()
	if !word.CompareAndSwap(old, next) {
		return false
	}
	w.retired(counter).Add(countOf(old))
	return true
}

// takeBack undoes an addition that landed in the wrong bucket, because the word got another
// number (that in after) between AddAt's look and its addition, and counts it as late.
//
// If the word has moved on since, n went to the retired sum with the rest. The number tells: no
// word gets the same one again while a caller could sit between two instructions. A count too
// small for n tells too.
func (w *Window) takeBack(word *atomic.Uint64, counter int, after, n uint64) {
	w.beginMove()
	defer w.endMove()
	for {
		now := word.Load()
		if (now^after)&numberMask != 0 || countOf(now) < n {
			w.retired(counter).Add(-n)
			break
		}
		if word.CompareAndSwap(now, now-n<<numberBits) {
			break
		}
	}
	w.late(counter).Add(n)
}
