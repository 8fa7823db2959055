package stat

import (
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestAFullCellStaysFull(t *testing.T) {
	t.Parallel()
	h := NewHistogram(time.Second)
	h.Observe(0, time.Millisecond)
	h.current.Load().cells[cellOf(time.Millisecond)].Store(math.MaxUint32 - 1)
	for range 5 {
		h.Observe(0, time.Millisecond)
	}
	require.EqualValues(t, uint32(math.MaxUint32), h.Percentiles(0, nil, nil))
}

// Cells follow one another without a gap: the first latency of each is one after the last of the one before.
func TestCellsAreContiguous(t *testing.T) {
	t.Parallel()
	cell := 0
	for octave := firstOctave; octave < endOctave; octave++ {
		for eighth := range time.Duration(1 << perOctaveBits) {
			first := time.Duration(1)<<octave + eighth<<(octave-perOctaveBits)
			require.Equal(t, cell, cellOf(first-1))
			cell++
			require.Equal(t, cell, cellOf(first))
			require.Equal(t, cell, cellOf(middleOf(cell)))
		}
	}
	require.Equal(t, cell, cellOf(1<<endOctave-1))
	require.Equal(t, cellCount-1, cellOf(1<<endOctave))
	require.Equal(t, cell+2, cellCount)
}

func TestHistogramSize(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, unsafe.Sizeof(generation{}), uintptr(1024))
	require.LessOrEqual(t, unsafe.Sizeof(Histogram{}), uintptr(16))
}
