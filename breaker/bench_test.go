package breaker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/stat"
)

// benchRules has a rule of every trip, none of which opens.
var benchRules = map[string]breaker.Rule{
	"errorRatio":  {Threshold: 1, MinCalls: 1e9},
	"slowRatio":   {Trip: breaker.SlowRatio, Threshold: 1, MinCalls: 1e9, SlowerThan: time.Hour},
	"errorCount":  {Trip: breaker.ErrorCount, Threshold: 1e9},
	"consecutive": {Trip: breaker.Consecutive, Threshold: 1e9},
}

// BenchmarkClock is one reading of the clock: what the others are to be compared with.
func BenchmarkClock(b *testing.B) {
	base := time.Now()
	for b.Loop() {
		_ = time.Since(base)
	}
}

func BenchmarkAcquireClosed(b *testing.B) {
	br, _ := newBreaker(b, benchRules["errorRatio"])
	for b.Loop() {
		br.Acquire(time.Second)
	}
}

func BenchmarkAcquireOpen(b *testing.B) {
	br, _ := newBreaker(b, benchRules["errorRatio"])
	require.NoError(b, br.Force(breaker.ForcedOpen, 0))
	for b.Loop() {
		br.Acquire(time.Second)
	}
}

func BenchmarkAcquireHalfOpenFull(b *testing.B) {
	br := halfOpen(b, 1)
	br.Acquire(time.Second)
	for b.Loop() {
		br.Acquire(time.Second)
	}
}

func BenchmarkProbe(b *testing.B) {
	br := halfOpen(b, 1)
	for b.Loop() {
		p, _, _ := br.Acquire(time.Second)
		br.Cancel(time.Second, p)
	}
}

func BenchmarkDone(b *testing.B) {
	for name, r := range benchRules {
		for _, outcome := range []stat.Outcome{stat.Success, stat.Failure} {
			b.Run(name+"/"+outcome.String(), func(b *testing.B) {
				br, _ := newBreaker(b, r)
				p, _, _ := br.Acquire(0)
				now := time.Duration(0)
				for b.Loop() {
					br.Done(now, p, outcome, time.Millisecond)
					now += time.Microsecond
				}
			})
		}
	}
}

// BenchmarkDoneMixed is a service of whose calls one in ten fails.
func BenchmarkDoneMixed(b *testing.B) {
	br, _ := newBreaker(b, breaker.Rule{Threshold: 0.5, MinCalls: 20})
	now := time.Duration(0)
	for i := uint(0); b.Loop(); i++ {
		p, _, _ := br.Acquire(now)
		outcome := stat.Success
		if i%10 == 0 {
			outcome = stat.Failure
		}
		if i < 20 {
			outcome = stat.Success
		}
		br.Done(now, p, outcome, time.Millisecond)
		now += 100 * time.Microsecond
	}
}
