package sim

import (
	"time"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
)

// Cordon is packages isolation and balance themselves.
type Cordon struct {
	// Rule is the rule; nil: the default one.
	Rule *isolation.Rule
	// Balance is how instances are chosen of those in service. Region and Seed are the kit's.
	Balance balance.Options
	// Label is what the policy is called in tables; default "cordon".
	Label string
}

// None calls any instance at random, by weight.
type None struct{}

// Consecutive puts an instance out for a constant time after failures in a row.
type Consecutive struct {
	// Failures is how many; default 5.
	Failures int
	// Out is for how long; default 30s.
	Out time.Duration
}

// Envoy is Envoy's outlier detection: five failures in a row at once, and every ten seconds whoever's success rate is more than 1.9
// standard deviations below the mean.
type Envoy struct {
	// MaxEjection is which share of the instances may be out; default .5. (Envoy's own is .1, with which it never takes out one of fewer than ten.)
	MaxEjection float64
}

// A50 is the outlier detection of gRPC (proposal A50) by success rate and by failure percentage, without a run of failures.
type A50 struct {
	// MaxEjection is which share of the instances may be out; default .5. (gRPC's own is .1.)
	MaxEjection float64
}

// Finagle is Finagle's failure accrual: a moving average of the success rate below .8 over 30 s, or five failures in a row; then it is out for 5 s,
// doubled up to 300 s with equal jitter, until one call succeeds.
type Finagle struct{}
