package datasource

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBackoffStaysWithinAnyBounds(t *testing.T) {
	for _, bounds := range [][2]time.Duration{
		{1, 1}, {1, 2}, {time.Second, time.Second}, {time.Second, 1500 * time.Millisecond}, {1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64},
	} {
		b := backoff{least: bounds[0], most: bounds[1]}
		for range 200 {
			pause := b.next()
			require.GreaterOrEqual(t, pause, bounds[0])
			require.LessOrEqual(t, pause, bounds[1])
		}
		b.reset()
		require.LessOrEqual(t, b.next()-bounds[0], bounds[0]/5)
	}
}

// Close relies on it: see inside.
func TestGoroutineIDTellsGoroutinesApart(t *testing.T) {
	mine := goroutineID()
	require.Regexp(t, `^[0-9]+$`, mine)
	require.Equal(t, mine, goroutineID())
	other := make(chan string)
	go func() { other <- goroutineID() }()
	require.NotEqual(t, mine, <-other)
}
