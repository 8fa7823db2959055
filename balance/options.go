package balance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

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
	// ConsistentHash takes the one that Request.Hash belongs to, so that equal hashes go to the same instance as far as the list allows: in
	// every process, whatever the order of the list. When an instance comes or goes, its own hashes move and hardly any others. None gets more than LoadBound times the mean of
	// calls under way, plus one; what is too much is spread over all others. The mean is over the calls picked by this Balancer, so all calls to the
	// group's instances should be.
	ConsistentHash
)

// strategies returns the names of all strategies.
func strategies() []string {
	return []string{"round robin", "random", "least in flight", "consistent hash"}
}

// String returns "round robin", "random", "least in flight" or "consistent hash".
func (s Strategy) String() string {
	if names := strategies(); int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("strategy(%d)", uint8(s))
}

// MarshalText writes the strategy as String does; an unknown one is an error.
func (s Strategy) MarshalText() ([]byte, error) {
	if names := strategies(); int(s) < len(names) {
		return []byte(names[s]), nil
	}
	return nil, fmt.Errorf("balance: no such strategy: %d; want one of %s", uint8(s), strings.Join(strategies(), ", "))
}

// UnmarshalText reads what MarshalText writes.
func (s *Strategy) UnmarshalText(text []byte) error {
	names := strategies()
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("balance: no such strategy: %q; want one of %s", text, strings.Join(names, ", "))
	}
	*s = Strategy(i)
	return nil
}

// Options are a Balancer's.
type Options struct {
	// Region is the caller's own; "" for none: then all regions are one.
	Region string
	// Strategy is how one of the instances is chosen; default RoundRobin.
	Strategy Strategy
	// LoadBound is ConsistentHash's, above 1 up to 100; default 1.25.
	LoadBound float64
	// Seed seeds the random choices, and where a round robin begins; 0: a random one. With another one, a single caller's choices are the same in every run.
	Seed uint64
	// OnRegion is told when a whole region is left, because its calls fail and other regions' do not, and when it is taken up again: an isolation.Event
	// with the region's name as Address. It is called with no lock held. May be nil.
	OnRegion func(isolation.Event)
}

const defaultLoadBound = 1.25

// New returns a balancer of the group's instances. It fails on options out of range.
func New(g *isolation.Group, o Options) (*Balancer, error) {
	if g == nil {
		return nil, fmt.Errorf("balance: there is no group; want the one whose instances are to be chosen from")
	}
	if o.Strategy > ConsistentHash {
		return nil, fmt.Errorf("balance: strategy: there is none of number %d; want one of RoundRobin, Random, LeastInFlight and ConsistentHash", uint8(o.Strategy))
	}
	if o.LoadBound != 0 && !(o.LoadBound > 1 && o.LoadBound <= 100) {
		return nil, fmt.Errorf("balance: loadBound: %v is out of range; want above 1 up to 100", o.LoadBound)
	}
	if o.LoadBound == 0 {
		o.LoadBound = defaultLoadBound
	}
	b := &Balancer{group: g, options: o, source: source{seeded: o.Seed != 0}}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	b.source.state.Store(o.Seed)
	for i := range b.turn {
		// Callers that start together should not all begin with the same instance.
		b.turn[i].Store(mix(o.Seed+uint64(i)) >> 32)
	}
	return b, nil
}
