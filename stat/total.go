package stat

import "runtime"

// Total returns all that was ever added to the counter, late additions included. It never
// goes back. It waits for whoever is just moving a count out of the window, so it is for
// observers, not for the path of a call.
func (w *Window) Total(counter int) int64 {
	if uint(counter) >= uint(w.counters) {
		return 0
	}
	for {
		before := w.moves.Load()
		sum := w.late(counter).Load() + w.retired(counter).Load()
		for i := counter; i < w.live(); i += int(w.counters) {
			sum += countOf(w.words[i].Load())
		}
		if before&movesBegun == 0 && w.moves.Load() == before {
			return int64(sum)
		}
		runtime.Gosched()
	}
}

// Late returns how much was added to the counter too late to be in the window.
func (w *Window) Late(counter int) int64 {
	if uint(counter) >= uint(w.counters) {
		return 0
	}
	return int64(w.late(counter).Load())
}

// A count that moves from a word to a sum is for a moment in neither. moves lets Total
// see that: its low half says how many moves are under way, its high half how many have ended
// (modulo 2^32). While it stands still with a low half of zero, nothing moves; what is added
// meanwhile only raises the words, so that Total's sum is what it was at some moment.
const movesBegun = 1<<32 - 1

func (w *Window) beginMove() { w.moves.Add(1) }

func (w *Window) endMove() { w.moves.Add(1<<32 - 1) }
