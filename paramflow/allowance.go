package paramflow

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"time"
)

// Times are counted in ticks of an eighth of a nanosecond from an origin, so that the distance of two calls, at least 100 ns, is right within 0.125 %, and always on
// the slow side.
const (
	tickBits = 3
	perNano  = 1 << tickBits
	farthest = 1 << 59 // 18 years; later readings count as that
)

// ticks converts a reading. One from before the origin counts as the origin, which brings calls together and never apart.
func (l *Limiter) ticks(now time.Duration) int64 {
	return min(max(int64(now)-l.origin, 0), farthest) << tickBits
}

// nanos converts a number of ticks, rounded up.
func nanos(ticks int64) time.Duration { return time.Duration((ticks + perNano - 1) >> tickBits) }

// An allowance is what one value may do.
type allowance struct {
	limit float64 // as the rule says it
	most  int64   // the highest cost that can pass; 0 refuses all. For concurrency: what may be in flight
	gap   int64   // ticks that a call counts for
	room  int64   // how far a value's calls may count ahead of now: burst gaps, one for pace
	paced bool    // calls have turns
}

// spent is the measure of a past of which nothing is known but until when it counts.
func spent() allowance { return allowance{gap: 1} }

// measure returns what a past is measured in, without what else is allowed.
func (a allowance) measure() allowance { return allowance{gap: a.gap, room: a.room, paced: a.paced} }

// allow returns the allowance of a limit and a burst (0 for the default) under a rule that has its defaults set. One that refuses all counts what passed before in the
// measure of old, if that had one, or else in that of the rule.
func (r Rule) allow(limit float64, burst int, old allowance) allowance {
	a := allowance{limit: limit, paced: r.Mode == Pace}
	switch {
	case r.Mode == Concurrency:
		a.most = int64(limit)
		return a
	case limit == 0:
		a.gap, a.room = old.gap, old.room
		if a.gap == 0 {
			a.gap, a.room = r.usual(burst)
		}
		return a
	}
	a.gap = gapOf(limit, r.Per)
	if r.Mode == Pace {
		a.most, a.room = int64(math.Ceil(limit)), a.gap
	} else {
		a.most = int64(burstOr(burst, limit))
		a.room = a.most * a.gap
	}
	return a
}

// usual returns what the past of a value that nothing is allowed is measured in: calls at the rule's rate, so that a value that comes from another limit keeps what it spent of the burst.
func (r Rule) usual(burst int) (gap, room int64) {
	limit := r.Limit
	if limit == 0 {
		limit = 1
	}
	gap = gapOf(limit, r.Per)
	if r.Mode == Pace {
		return gap, gap
	}
	return gap, int64(burstOr(cmp.Or(burst, r.Burst), limit)) * gap
}

// gapOf returns the distance of two calls, rounded up to ticks: exactly, since a distance that is too short by the least would break the promise some day.
func gapOf(limit float64, per time.Duration) int64 {
	var gap, rate big.Rat
	rate.SetFloat64(limit)
	gap.SetInt64(int64(per) << tickBits)
	gap.Quo(&gap, &rate)
	var whole, rest big.Int
	if whole.DivMod(gap.Num(), gap.Denom(), &rest); rest.Sign() > 0 {
		return whole.Int64() + 1
	}
	return whole.Int64()
}

// carry returns until when a value's past counts under another allowance, if it counted until at under the old one: while it is not earned back, what was left of the old
// burst is left of a larger one, and what was spent is spent of a smaller one, so that edits at one instant never yield more than one burst. Between two paces turns that are promised keep their time.
func carry(at, t int64, from, to allowance) int64 {
	if at <= t || from.gap == to.gap && from.room == to.room {
		return at
	}
	if from.paced && to.paced {
		return at - from.gap + to.gap
	}
	// Both round against the value.
	spent := to.room
	if whole, more, ok := scale(at-t, to.gap, from.gap); ok && whole < to.room {
		spent = whole + more
	}
	if left, _, ok := scale(max(from.room-(at-t), 0), to.gap, from.gap); ok && left < to.room {
		spent = max(spent, to.room-left)
	}
	return t + spent
}

// scale returns x·a/b rounded down, and 1 more if something was rounded; false if that is too large for a number.
func scale(x, a, b int64) (whole, more int64, ok bool) {
	hi, lo := bits.Mul64(uint64(x), uint64(a))
	if hi >= uint64(b) {
		return 0, 0, false
	}
	q, rest := bits.Div64(hi, lo, uint64(b))
	return int64(q), int64(min(rest, 1)), q < math.MaxInt64
}
