package flow

import (
	"math"
	"time"
)

// exactWithin is how close to a whole number of calls a product of a limit must be to count as one: it forgives the
// rounding of decimal fractions, nothing more.
const exactWithin = 1e-9

// oneLess is 1 less two units in the last place, so that a quotient that only rounding put above a whole nanosecond is
// not rounded up to the next.
const oneLess = 1 - 0x1p-51

// whole returns a limit as whole calls over an interval: at least the given one, and longer where the limit has a
// fraction, so that the rate is never above what was asked (see Rule.Limit).
func whole(limit float64, per time.Duration) (calls int64, interval time.Duration) {
	if limit <= 0 {
		return 0, per
	}
	if limit >= 1 {
		for m := 1.0; m <= 10; m++ {
			if n := math.Round(limit * m); math.Abs(n-limit*m) <= exactWithin*n {
				return int64(n), per * time.Duration(m)
			}
		}
	}
	n := math.Ceil(limit)
	return int64(n), time.Duration(math.Ceil(n * float64(per) / limit * oneLess))
}
