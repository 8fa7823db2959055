package stat

import "time"

// Reset empties the window (not the totals): whatever was added with a time before now is
// no longer in any sum, and what is still to come for the buckets before now's is late. Of the
// bucket of now, all that was added so far is gone.
//
// An addition for a bucket up to now's that races with Reset counts as before it, as after it,
// or as late.
func (w *Window) Reset(now time.Duration) {
	bucket := w.bucketAt(now)
	for i := range w.live() {
		w.resetWord(i, bucket)
	}
}

// resetWord empties a word of a bucket up to the given one. The word gets a number between the
// last bucket of its place that is closed now and the first that is not (which may be the given
// one): whoever adds to the one is late, whoever adds to the other begins it.
func (w *Window) resetWord(i int, bucket int64) {
	word, counter := &w.words[i], i%int(w.counters)
	buckets := int64(w.buckets)
	ahead := int64(i/int(w.counters) - w.place(uint64(bucket)))
	if ahead < 0 {
		ahead += buckets
	}
	open := bucket + ahead
	closed := open - buckets
	for {
		era := w.enter(bucket)
		old := word.Load()
		if w.era.Load() != era {
			continue
		}
		held := bucketOf(old, era)
		running := ahead == 0 && held == open
		if bucket < firstBucket(era) || held > closed && !running {
			return // newer, or emptied before
		}
		if w.move(word, counter, old, makeWord(w.between(closed), 0)) {
			return
		}
	}
}

// between returns a number after that of the closed bucket and before the next one of its
// place. It follows the number of moves so far, so that several resets within a bucket give
// different ones and takeBack is not misled. In a window of one bucket there is none between: it
// is the next one.
func (w *Window) between(closed int64) int64 {
	choices := max(int64(w.buckets)-1, 1)
	return closed + 1 + int64(w.moves.Load()>>32)%choices
}
