package stat

// A word's 24-bit number comes round every 2^24 buckets (19 days of 100ms, 17s of 1µs), and
// a counter may well be idle for longer. So time is cut into eras of 2^22 buckets, and
// the window knows the era of the latest bucket seen: AddAt compares its own with it, at the
// cost of a compare that always goes one way. Whoever comes from a later era first
// sweeps the words: those of before the previous era are emptied and get a recent number.
// Hence, in era e, every word is of a bucket from resting(e), a little before era e-1, to the
// end of era e, a range of less than 2^24, and its number tells which.
//
// The sweep comes before the new era is in force, and any number of goroutines may be at it.
// From e to e+1 they tell the words that stay by their numbers, which mean the same in both,
// so that additions can go on. Over a longer jump a number may mean one thing before and
// another after: the jump is announced first, by a negative era in which nothing but
// the sweep is done, and no word stays.
const eraBits = 22

func eraOf(bucket int64) int32 { return int32(bucket >> eraBits) }

// firstBucket returns the first bucket that may be added to in an era: that of the era before.
func firstBucket(era int32) int64 { return (int64(era) - 1) << eraBits }

// resting returns the number that a sweep gives to emptied words: one before every bucket
// that may be added to, not the same in any two eras that a stalled caller could mix up. It may be that of a bucket which has counts: a sweep
// takes these too.
func resting(era int32) int64 {
	const spread = 1 << (eraBits - 2)
	return firstBucket(era) - 1 - int64(era>>2)%spread
}

// bucketOf returns the bucket whose number a word read in the given era carries.
func bucketOf(word uint64, era int32) int64 {
	base := firstBucket(era) - 1<<(eraBits-1)
	return base + (int64(word)-base)&numberMask
}

// enter returns the era in force, after it has made it at least the bucket's.
func (w *Window) enter(bucket int64) int32 {
	for {
		era := w.era.Load()
		next := eraOf(bucket)
		switch {
		case era < 0: // a jump was announced
			w.sweep(era, ^era)
		case era >= next:
			return era
		case era+1 == next:
			w.sweep(era, next)
		default:
			w.era.CompareAndSwap(era, ^next)
		}
	}
}

// sweep makes the words ready for an era and then puts it in force, unless the era
// in force is no longer the one it was called for.
func (w *Window) sweep(inForce, next int32) {
	for i := range w.live() {
		if !w.sweepWord(i, inForce, next) {
			return
		}
	}
	w.era.CompareAndSwap(inForce, next)
}

// sweepWord empties a word unless it may stay. It returns false when the era has changed.
func (w *Window) sweepWord(i int, inForce, next int32) bool {
	word, rest := &w.words[i], makeWord(resting(next), 0)
	for {
		old := word.Load()
		if w.era.Load() != inForce {
			return false
		}
		if old == rest { // swept by another
			return true
		}
		if inForce >= 0 && bucketOf(old, inForce) >= firstBucket(next) {
			return true
		}
		if w.move(word, i%int(w.counters), old, rest) {
			return true
		}
	}
}
