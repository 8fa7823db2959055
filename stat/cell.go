package stat

import (
	"math"
	"math/bits"
	"time"
)

// Latencies are counted in cells: one below 2^9 ns, eight equal ones per octave from there, one
// from 2^37 ns (137s) on. The middle of a cell is at most a 16th of any latency in it away.
const (
	perOctaveBits = 3
	firstOctave   = 9
	endOctave     = 37
	cellCount     = (endOctave-firstOctave)<<perOctaveBits + 2
)

// cellOf returns the cell of a latency.
func cellOf(latency time.Duration) int {
	if latency < 1<<firstOctave {
		return 0
	}
	if latency >= 1<<endOctave {
		return cellCount - 1
	}
	octave := bits.Len64(uint64(latency)) - 1
	// The leading bit and those below it that tell the cells of an octave apart. The leading one
	// stands for a whole octave of cells, so one less is counted.
	steps := int(uint64(latency) >> (uint(octave-perOctaveBits) & 63))
	return (octave-firstOctave-1)<<perOctaveBits + steps + 1
}

// middleOf returns the middle of a cell; of the last one, its beginning.
func middleOf(cell int) time.Duration {
	switch cell {
	case 0:
		return 1 << (firstOctave - 1)
	case cellCount - 1:
		return 1 << endOctave
	}
	octave := (cell-1)>>perOctaveBits + firstOctave
	step := (cell - 1) & (1<<perOctaveBits - 1)
	width := time.Duration(1) << (octave - perOctaveBits)
	return 1<<octave + time.Duration(step)*width + width/2
}

// quantile returns the smallest latency such that at least a share of q of the count
// observations is no longer, as the middle of its cell.
func quantile(cells *[cellCount]uint64, count int64, q float64) time.Duration {
	if count == 0 {
		return 0
	}
	rank := int64(1) // also for NaN
	if q >= 1 {
		rank = count
	} else if q > 0 {
		const exact = 1 - 1e-15 // 0.07 × 100 is a little above 7, and means the 7th
		rank = min(max(int64(math.Ceil(q*float64(count)*exact)), 1), count)
	}
	for cell, n := range cells {
		rank -= int64(n)
		if rank <= 0 {
			return middleOf(cell)
		}
	}
	return middleOf(cellCount - 1)
}
