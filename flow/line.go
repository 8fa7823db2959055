package flow

import (
	"math"
	"time"
)

// The modes that space calls count time in ticks of an eighth of a nanosecond from an origin, so that the distance of two
// calls, at least 100 ns, is right within 0.125 %, and always on the slow side.
const (
	tickBits = 3
	perNano  = 1 << tickBits
	farthest = 1 << 59 // 18 years; readings further from the origin count as that
)

// closedLine is the state of a line that another one took over from.
const closedLine = math.MinInt64

// An origin is the reading from which a limiter counts ticks.
type origin time.Duration

// ticks converts a reading.
func (o origin) ticks(now time.Duration) int64 {
	return min(max(int64(now)-int64(o), -farthest), farthest) << tickBits
}

// reading converts ticks back, rounded up.
func (o origin) reading(ticks int64) time.Duration { return time.Duration(o) + nanos(ticks) }

// nanos converts a number of ticks, rounded up.
func nanos(ticks int64) time.Duration { return time.Duration((ticks + perNano - 1) >> tickBits) }

// gapOf returns the distance of two calls, rounded up to ticks.
func gapOf(limit float64, per time.Duration) int64 {
	return int64(math.Ceil(float64(per) * perNano / limit * oneLess))
}
