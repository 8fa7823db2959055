package stat

import "time"

// Sum returns the counter's sum over the window that ends at now: the running bucket and
// the buckets-1 full ones before it.
func (w *Window) Sum(now time.Duration, counter int) int64 {
	if uint(counter) >= uint(w.counters) {
		return 0
	}
	last := w.bucketAt(now)
	words, step, buckets := w.words[:w.live()], int(w.counters), uint64(w.buckets)
	for {
		era := w.era.Load()
		if !holds(era, last) {
			return 0
		}
		var sum uint64
		for i := counter; i < len(words); i += step {
			word := words[i].Load()
			if age(word, last) < buckets {
				sum += countOf(word)
			}
		}
		if w.era.Load() == era {
			return int64(sum)
		}
	}
}

// Sums adds every counter's sum to dst, which must have one element per counter: of a
// shorter one the counters beyond are left out.
func (w *Window) Sums(now time.Duration, dst []int64) {
	for counter := range min(len(dst), int(w.counters)) {
		dst[counter] += w.Sum(now, counter)
	}
}

// Each calls f for every bucket of the window that ends at now, oldest first, with the
// bucket's start and its counters. Buckets before the clock's origin are left out. counts
// is reused between calls.
func (w *Window) Each(now time.Duration, f func(start time.Duration, counts []int64)) {
	last := w.bucketAt(now)
	counts := make([]int64, w.counters)
	for bucket := max(last-int64(w.buckets)+1, 0); bucket <= last && w.counters > 0; bucket++ {
		w.read(bucket, counts)
		f(time.Duration(bucket)*w.width, counts)
	}
}

// read sets counts to the bucket's.
func (w *Window) read(bucket int64, counts []int64) {
	first := w.place(uint64(bucket)) * int(w.counters)
	for {
		clear(counts)
		era := w.era.Load()
		if !holds(era, bucket) {
			return
		}
		for counter := range counts {
			word := w.words[first+counter].Load()
			if age(word, bucket) == 0 {
				counts[counter] = int64(countOf(word))
			}
		}
		if w.era.Load() == era {
			return
		}
	}
}

// holds reports whether, in an era, the words can hold anything of the window that ends with
// the bucket. If so, it is near enough to all of them for age.
func holds(era int32, bucket int64) bool {
	return era >= 0 && eraOf(bucket) >= era-1 && eraOf(bucket) <= era+1
}

// age returns how many buckets the word's is before the given one. For one after it that is a
// number far above any window's buckets.
func age(word uint64, bucket int64) uint64 { return (uint64(bucket) - word) & numberMask }
