package stat_test

import (
	"encoding/binary"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// near returns a time around now that tries a window's edges: inside it, at its ends, long
// past it, an era or the round of the bucket numbers away.
func near(width time.Duration, buckets int, now time.Duration, jump uint8, jitter int64) time.Duration {
	steps := []int64{
		0, 0, 0, 1, 1, -1, -1, 2,
		int64(buckets) - 1, int64(buckets), int64(buckets) + 1, 2 * int64(buckets),
		1 - int64(buckets), -int64(buckets), -2 * int64(buckets), 37,
		eraBuckets, -eraBuckets, 2 * eraBuckets, -2 * eraBuckets,
		3 * eraBuckets, 4 * eraBuckets, 5 * eraBuckets, 8 * eraBuckets,
		eraBuckets / 2, 4*eraBuckets - 1, 4*eraBuckets + 1, 400 * eraBuckets,
	}
	step := steps[int(jump)%len(steps)]
	if step > 0 && step > int64(math.MaxInt64-max(now, 0))/int64(width) {
		return math.MaxInt64
	}
	if step < 0 && -step > int64(max(now, 0))/int64(width) {
		return -1
	}
	at := now + time.Duration(step)*width
	return at + time.Duration(jitter%int64(width))
}

func TestWindowAgainstModel(t *testing.T) {
	t.Parallel()
	rounds := 20 // of a hundred cases
	if testing.Short() || raceEnabled {
		rounds = 3
	}
	for round := range rounds {
		t.Run(strconv.Itoa(round), windowAgainstModel)
	}
}

func windowAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.OneOf(
			rapid.SampledFrom([]time.Duration{time.Microsecond, 1 << 10, time.Millisecond, 100 * time.Millisecond, time.Second, time.Hour}),
			rapid.Custom(func(t *rapid.T) time.Duration {
				return time.Duration(rapid.Int64Range(1000, int64(time.Minute)).Draw(t, "ns"))
			}),
		).Draw(t, "width")
		buckets := rapid.OneOf(rapid.IntRange(1, 12), rapid.SampledFrom([]int{16, 60, 4096})).Draw(t, "buckets")
		counters := rapid.IntRange(1, 4).Draw(t, "counters")
		p := newPair(width, buckets, counters)

		var now time.Duration
		move := func(t *rapid.T) time.Duration {
			return near(width, buckets, now, rapid.Uint8().Draw(t, "jump"), rapid.Int64Range(0, math.MaxInt32).Draw(t, "jitter"))
		}
		add := func(t *rapid.T) {
			at := move(t)
			n := rapid.OneOf(rapid.Int64Range(0, 5), rapid.SampledFrom([]int64{-1, 1 << 24, 1 << 39, maxCount, math.MaxInt64})).Draw(t, "n")
			require.NoError(t, p.add(at, rapid.IntRange(0, counters).Draw(t, "counter"), n))
			if rapid.Bool().Draw(t, "go on from here") {
				now = max(at, 0)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":   add,
			"add 2": add,
			"add 3": add,
			"reset": func(t *rapid.T) { p.reset(move(t)) },
			"read":  func(t *rapid.T) { require.NoError(t, p.check(move(t))) },
			"":      func(t *rapid.T) { require.NoError(t, p.check(now)) },
		})
	})
}

// FuzzWindow reads a layout and then additions, resets and reads from the input.
func FuzzWindow(f *testing.F) {
	f.Add([]byte{0, 3, 2, 0, 0, 0, 1, 7, 3, 1, 1, 8, 5, 2, 0})
	f.Add([]byte{200, 10, 4, 1, 22, 1, 2, 9, 9, 3, 16, 0, 0, 0, 0, 4, 18, 1})
	f.Add([]byte{7, 1, 1, 1, 0, 1, 1, 13, 1, 1, 1, 1, 255, 1, 1, 24, 1, 1, 9, 9})
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) < 3 {
			return
		}
		width := time.Microsecond + time.Duration(input[0])*time.Duration(input[0])*997
		buckets, counters := 1+int(input[1])%64, 1+int(input[2])%4
		p := newPair(width, buckets, counters)
		var now time.Duration
		input = input[3:min(len(input), 1000)]
		for ; len(input) >= 4; input = input[4:] {
			at := near(width, buckets, now, input[1], int64(binary.LittleEndian.Uint16(input[2:])))
			switch input[0] % 8 {
			case 0:
				require.NoError(t, p.check(at))
			case 1:
				p.reset(at)
			case 2:
				require.NoError(t, p.add(at, int(input[3])%counters, int64(input[2])<<32))
			default:
				require.NoError(t, p.add(at, int(input[3])%counters, int64(input[2])))
			}
			if input[0]&0x10 != 0 {
				now = max(at, 0)
			}
		}
		require.NoError(t, p.check(now))
	})
}
