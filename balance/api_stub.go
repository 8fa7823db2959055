package balance

import (
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// Strategy is how one of the instances is chosen.
type Strategy uint8

const (
	// RoundRobin takes them in turn, by weight and smoothly: a heavier one more often, and not several times in a row.
	RoundRobin Strategy = iota
	// Random takes one at random, by weight.
	Random
	// LeastInFlight takes of two random ones the one with fewer calls under way for its weight.
	LeastInFlight
	// ConsistentHash takes the one that Request.Hash belongs to, so that equal hashes go to the same instance as far as the list allows; but none gets more than LoadBound times
	// the mean of calls under way.
	ConsistentHash
)

// Options are a Balancer's.
type Options struct {
	// Region is the caller's own; "" for none: then all regions are one.
	Region string
	// Strategy is how one of the instances is chosen; default RoundRobin.
	Strategy Strategy
	// LoadBound is ConsistentHash's, above 1 up to 100; default 1.25.
	LoadBound float64
	// Seed seeds the random choices; 0: a random one.
	Seed uint64
}

// Balancer chooses instances of one group. It is safe for concurrent use.
type Balancer struct{}

// New returns a balancer of the group's instances. It fails on options out of range.
func New(g *isolation.Group, o Options) (*Balancer, error) { return nil, nil }

// Request is what a choice depends on.
type Request struct {
	// Hash is what ConsistentHash goes by.
	Hash uint64
	// Tried are instances to choose only if there is no other: a retry's.
	Tried []*isolation.Member
}

// Pick chooses an instance and begins a call to it. The error is isolation.ErrNoInstance or isolation.ErrAllOut (errors.Is).
func (b *Balancer) Pick(now time.Duration, r Request) (Call, error) { return Call{}, nil }

// Call is a call under way to the instance that was picked. It must end once, as isolation.Call.
type Call struct{ isolation.Call }
