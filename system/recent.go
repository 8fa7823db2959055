package system

import (
	"math/bits"
	"time"
)

// tickEvery is how often what was counted is looked at, by whichever call comes then.
const tickEvery = 50 * time.Millisecond

// marks is for how many ticks the counts are remembered: those of a second, the one that ends it, and one to spare.
const marks = int(time.Second/tickEvery) + 2

// recent knows what ended within the last second. Calls only count, in two sums that never go back; ticks remember where these stood. Calls that end tick too, so what ended between two ticks did so within
// tickEvery after the first of them, however long nobody came after that.
type recent struct {
	ring  [marks]mark
	first int
	len   int
	// latest is the mark before the latest end, and any whether there was one.
	latest time.Duration
	any    bool
}

// mark is where the sums stood at a time.
type mark struct {
	at    time.Duration
	ended int64 // cost, but that of calls whose response time is not known
	spent int64 // the response times of that cost, in nanoseconds
}

// add takes a mark, which is later than those before. It returns the one before it.
func (r *recent) add(m mark) (before mark, ok bool) {
	if r.len > 0 {
		before, ok = r.at(r.len-1), true
		if before.ended != m.ended {
			r.latest, r.any = before.at, true
		}
	}
	if r.len == marks {
		r.first = (r.first + 1) % marks
		r.len--
	}
	r.ring[(r.first+r.len)%marks] = m
	r.len++
	return before, ok
}

// mean returns the mean response time of what ended within the second before the latest mark, rounded in by less than tickEvery; ok is false if nothing did.
func (r *recent) mean() (mean time.Duration, ok bool) {
	if r.len == 0 {
		return 0, false
	}
	last := r.at(r.len - 1)
	for i := range r.len {
		m := r.at(i)
		if last.at-m.at >= time.Second {
			continue
		}
		if n := last.ended - m.ended; n > 0 {
			return time.Duration((last.spent - m.spent) / n), true
		}
		break
	}
	return 0, false
}

// empty returns when nothing of what has ended by now is in the last second any more.
func (r *recent) empty() time.Duration { return r.latest + time.Second }

func (r *recent) at(i int) mark { return r.ring[(r.first+i)%marks] }

// mostSpent bounds what one call adds to the sum, so that many of them do not run over: two years.
const mostSpent = 1 << 56

// spent returns the response time of all of a call's cost.
func spent(latency time.Duration, cost int64) int64 {
	if cost == 1 {
		return int64(latency)
	}
	high, low := bits.Mul64(uint64(latency), uint64(cost))
	if high != 0 || low > mostSpent {
		return mostSpent
	}
	return int64(low)
}
