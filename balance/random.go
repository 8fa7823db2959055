package balance

import (
	"math/rand/v2"
	"sync/atomic"
)

// golden is 2^64 divided by the golden ratio: its multiples, modulo 2^64, lie as evenly as can be however many they are.
const golden = 0x9e3779b97f4a7c15

// mix spreads a number over all 64 bits: numbers that differ in any bit come out as if drawn at random (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// source draws random numbers: those of its seed, in turn, or with none the runtime's, for which callers do not contend. It is safe
// for concurrent use.
type source struct {
	seeded bool
	state  atomic.Uint64
}

func (s *source) next() uint64 {
	if !s.seeded {
		return rand.Uint64()
	}
	return mix(s.state.Add(golden))
}

// counter is a number that all callers count up, alone on its line of the cache.
type counter struct {
	atomic.Uint64
	_ [56]byte
}

// spread returns the count's place between 0 and 2^64 in an even sequence: of any run of them the share below a limit is exact to one or two. Another
// step makes another sequence, independent of the first.
func spread(count, step uint64) uint64 { return count * step }

const (
	// stepProbe and stepRegion are the fractional parts of the golden ratio and of √2.
	stepProbe  = golden
	stepRegion = 0x6a09e667f3bcc909
)

// below turns a share into the limit below which that share of all 64-bit numbers lies.
func below(share float64) uint64 {
	const whole = 1 << 64
	switch {
	case share >= 1:
		return 1<<64 - 1
	case share > 0:
		return uint64(share * whole)
	}
	return 0
}
