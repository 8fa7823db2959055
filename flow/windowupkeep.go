package flow

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// The words' stamps are cut to so many bits that a stamp can be told from one that is older or younger by up to half of
// what the bits hold. Hence eras: with e an eighth of what the bits hold (at least per), an era that was begun at t
// admits readings from t-e up to t+2e, and when it begins every life that had ended by then is emptied. So an age
// is between -4e and 4e, and is read right.

// eighth returns the eighth of what a stamp's bits hold.
func (w *window) eighth() int64 { return 1 << (61 - w.wrap) }

// turnEra begins an era for a reading that is outside of the present one. It returns -1, or how much too early the reading
// is, if it is from before the present era.
func (w *window) turnEra(now time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turnEraLocked(now)
	if era := time.Duration(w.era.Load()); now < era {
		return era - now
	}
	return -1
}

// turnEraLocked makes sure that the era admits the reading, unless it is from before the era. Caller must hold w.mu.
func (w *window) turnEraLocked(now time.Duration) {
	era := w.era.Load()
	if int64(now) < era || uint64(now)-uint64(era) < w.eraLength {
		return
	}
	w.era.Store(math.MaxInt64) // whoever comes now waits for w.mu
	for i := range w.words {
		w.renew(i, now, era)
	}
	w.stripHead() // what became free in the group in use goes the way that pays what the pool lacks
	for {         // permits of lives that were ended here must not be taken for those of the next in the same group: see cancel
		h := w.head.Load()
		if w.head.CompareAndSwap(h, h+(lapMask+1)<<8) {
			break
		}
	}
	w.era.Store(int64(now) - w.eighth())
}

// renew readies a group for the era that begins at now. Whoever judged its word in the last era and still wants to change
// it fails, unless the life goes on (and then the change is right in the new era too).
func (w *window) renew(group int, now time.Duration, era int64) {
	for {
		x := w.words[group].Load()
		at := w.at(x, era)
		if x >= sealed || w.used(x) > 0 && now-at < w.per {
			return
		}
		w.end(x, now, now-at)
		if w.words[group].CompareAndSwap(x, w.word(x>>lapShift, 0, w.share(x), now)) {
			return
		}
	}
}

// at returns the time of a word's stamp, which was made in the era.
func (w *window) at(x uint64, era int64) time.Duration {
	ahead := (x<<w.tick - uint64(era)) << w.wrap >> w.wrap
	return time.Duration(era + int64(ahead))
}

// setLimit changes how many calls are admitted per interval, up to max. What is more in use than a lower limit
// allows leaves as its interval ends: whoever opens a group pays what the pool lacks first.
func (w *window) setLimit(limit int64) {
	limit = min(limit, w.max)
	if w.cur.Load() == limit {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pool.Add(limit/w.unit-w.cur.Swap(limit)/w.unit) >= 0 {
		return
	}
	w.stripHead()
}

// stripHead takes the room out of the group in use, which needs no opening and so would not pay what the pool lacks.
func (w *window) stripHead() {
	for {
		h := w.head.Load()
		group := &w.words[h&0xff]
		if !w.strip(group, group.Load()) && w.head.Load() == h {
			return
		}
	}
}

// close seals the words for good and returns what they held: all admissions, oldest first, and the earliest
// reading that is admitted.
func (w *window) close() (history []members, low time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	era := w.era.Load()
	for i := range w.words {
		x := w.words[i].Load()
		for !w.words[i].CompareAndSwap(x, x|sealed) {
			x = w.words[i].Load()
		}
		if used := w.used(x); used > 0 {
			history = append(history, members{w.at(x, era), used})
		}
	}
	slices.SortFunc(history, func(a, b members) int { return cmp.Compare(a.at, b.at) })
	return history, time.Duration(w.low.Load())
}

// usage returns how many calls count against the limit at now.
func (w *window) usage(now time.Duration) (calls int64) {
	if w.max == 0 {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	era := w.era.Load()
	for i := range w.words {
		x := w.words[i].Load()
		if used := w.used(x); used > 0 && now-w.at(x, era) < w.per {
			calls += used
		}
	}
	return calls
}
