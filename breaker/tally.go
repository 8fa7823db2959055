package breaker

import (
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/stat"
)

// The counters of a tally's window. A call is counted as good or as bad, by one addition, so that a share of bad ones never
// exceeds 1. slowRatio, for which bad is not failed, counts failures beside.
const (
	good = iota
	bad
	failed
)

// counters returns how many of them a trip needs.
func (t Trip) counters() int {
	switch t {
	case Consecutive:
		return 0
	case SlowRatio:
		return failed + 1
	}
	return bad + 1
}

// A tally counts calls from when a breaker closed (or was forced closed) on. It takes no lock.
type tally struct {
	// window counts for all trips but consecutive, and watch belongs to it.
	window stat.Window
	watch  watch
	// run is how many calls failed since one was good, for consecutive.
	run atomic.Int64
}

func newTally(s *settings) *tally {
	t := new(tally)
	if n := s.trip.counters(); n > 0 {
		t.window.Init(s.window/time.Duration(s.buckets), int(s.buckets), n)
	}
	return t
}

// endRun notes a good call, for consecutive. It writes only if there is a run to end.
func (t *tally) endRun() {
	if t.run.Load() != 0 {
		t.run.Store(0)
	}
}

// judge tells how many calls are in the window and how many of them are bad.
//
// The bad ones are read first: good ones that are counted in between then make the share smaller than it is, never
// larger, and there is a moment, the second reading, at which what is found is true. Nothing is missed by it either, for
// whoever counts a call judges after that, and the last one sees them all.
func (t *tally) judge(now time.Duration) (badCalls, calls int64) {
	badCalls = t.window.Sum(now, bad)
	if badCalls == 0 {
		return 0, 0
	}
	return badCalls, badCalls + t.window.Sum(now, good)
}

// counts returns the calls of the window that ends at now; for consecutive the failures since the last good call.
func (t *tally) counts(now time.Duration, trip Trip) counts {
	if trip == Consecutive {
		run := t.run.Load()
		return counts{calls: run, failures: run}
	}
	badCalls := t.window.Sum(now, bad)
	calls := badCalls + t.window.Sum(now, good)
	if trip == SlowRatio {
		return counts{calls: calls, slow: badCalls, failures: t.window.Sum(now, failed)}
	}
	return counts{calls: calls, failures: badCalls}
}

// edited returns the tally for the new settings: the same one if they count in the same way, else a new one with all that can
// be carried over. A call counted while it is made may be lost. kept is false if nothing could be carried.
func (t *tally) edited(now time.Duration, old, new *settings) (_ *tally, kept bool) {
	has, needs := old.trip.counters(), new.trip.counters()
	if has == needs && old.window == new.window && old.buckets == new.buckets {
		return t, true
	}
	edited := newTally(new)
	if needs == 0 || needs > has {
		return edited, false
	}
	edited.carry(now, &t.window, old.trip, new.trip)
	return edited, true
}

// carry adds the buckets of another window, each at its start.
func (t *tally) carry(now time.Duration, from *stat.Window, old, new Trip) {
	from.Each(now, func(start time.Duration, n []int64) {
		g, b := n[good], n[bad]
		if old == SlowRatio && new != SlowRatio {
			g, b = max(0, g+b-n[failed]), n[failed]
		}
		t.addSome(start, good, g)
		t.addSome(start, bad, b)
		if new == SlowRatio {
			t.addSome(start, failed, n[failed])
		}
	})
}

func (t *tally) addSome(at time.Duration, counter int, n int64) {
	if n > 0 {
		t.window.Add(at, counter, n)
	}
}

// A watch tells whether a good call must be judged too. By itself a good call only lowers the share of bad ones, but it can
// still open the breaker: it may be the one that makes the window hold MinCalls, or the first after older
// good calls rolled out of the window. Judging each would be exact and dear; a watch makes it exact and cheap.
//
// One word: a mode in the low 2 bits, a bucket's number (its low 32 bits) above it, and a version on top, changed by every bad
// call, so that what was concluded before a bad call is not noted after it.
type watch struct{ word atomic.Uint64 }

const (
	// judgeNone: there is no bad call in the window. The zero watch.
	judgeNone = iota
	// judgeAll: judge every good call.
	judgeAll
	// judgeOthers: in the noted bucket good calls cannot open the breaker; judge those in other buckets.
	judgeOthers

	watchVersion = 1 << 34
)

// calm reports whether a good call counted in the bucket cannot open the breaker.
func (w *watch) calm(bucket int64) bool {
	word := w.word.Load()
	return word&3 == judgeNone || word&3 == judgeOthers && uint32(word>>2) == uint32(bucket)
}

// alarm makes good calls be judged, from a bad call (already counted) or an edit on.
func (w *watch) alarm() {
	for {
		word := w.word.Load()
		if w.word.CompareAndSwap(word, word&^(watchVersion-1)+watchVersion|judgeAll) {
			return
		}
	}
}

// note notes what a judgement in the bucket found, unless the word it began with has changed: no bad call, or enough calls
// and too few bad ones.
func (w *watch) note(word uint64, bucket int64, mode uint64) {
	w.word.CompareAndSwap(word, word&^(watchVersion-1)|uint64(uint32(bucket))<<2|mode)
}
