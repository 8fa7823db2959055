package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

// Kind is the kind of a policy.
type Kind string

// The kinds: Cordon is cordon itself, None calls any instance however ill it is, and the others are models of what others do.
const (
	Cordon      Kind = "cordon"
	None        Kind = "none"
	Envoy       Kind = "envoy"
	A50         Kind = "a50"
	Finagle     Kind = "finagle"
	Consecutive Kind = "consecutive"
)

// Values lists the kinds.
func (Kind) Values() []string {
	return []string{string(Cordon), string(None), string(Envoy), string(A50), string(Finagle), string(Consecutive)}
}

// UnmarshalText reads a kind.
func (k *Kind) UnmarshalText(text []byte) error {
	if !slices.Contains(k.Values(), string(text)) {
		return fmt.Errorf("no policy %q; want one of %s", text, strings.Join(k.Values(), ", "))
	}
	*k = Kind(text)
	return nil
}

// Strategy is a balance.Strategy, as documents write it.
type Strategy balance.Strategy

// Values lists the strategies, in the order of their constants.
func (Strategy) Values() []string {
	return []string{"roundRobin", "random", "leastInFlight", "consistentHash"}
}

// UnmarshalText reads a strategy.
func (s *Strategy) UnmarshalText(text []byte) error {
	i := slices.Index(s.Values(), string(text))
	if i < 0 {
		return fmt.Errorf("no strategy %q; want one of %s", text, strings.Join(s.Values(), ", "))
	}
	*s = Strategy(i)
	return nil
}

// Policy is what decides which instance is called. The name of its kind alone is one with all its defaults.
type Policy struct {
	// Kind is what it is. Required.
	Kind Kind `rule:"kind"`
	// Label is what it is called in tables, each once; default its kind's name, with the rule or the preset behind it.
	Label string `rule:"label"`
	// Rule is the id of the isolation rule that it goes by, for cordon; default: that which the rules have for the service, and without rules the
	// preset "default".
	Rule string `rule:"rule"`
	// Preset makes it go by that preset and by no rule, for cordon.
	Preset *isolation.Preset `rule:"preset"`
	// Balance is how one of the instances in service is chosen, for cordon; default roundRobin.
	Balance Strategy `rule:"balance"`
	// LoadBound is how many times the mean of calls under way an instance may have, for cordon with consistentHash, above 1 up to 100; default 1.25.
	LoadBound float64 `rule:"loadBound"`
	// MaxEjection is which share of the instances may be out, for envoy and a50, above 0 up to 1; default 0.5.
	MaxEjection float64 `rule:"maxEjection"`
	// Failures is after how many failures in a row an instance is put out, for consecutive, 1 or more; default 5.
	Failures int `rule:"failures"`
	// Out is for how long, for consecutive; default 30s.
	Out time.Duration `rule:"out"`
}

// labelled is a policy with a name of its own.
type labelled struct {
	sim.Policy
	label string
}

func (l labelled) String() string { return l.label }

// build returns the kit's policy. The rule is for cordon; under one in shadow all are called, and what is told of quarantines would have been: its label says so.
func (p Policy) build(r *isolation.Rule) sim.Policy {
	policy := p.named(r)
	if p.Kind == Cordon && r != nil && r.Shadow {
		return labelled{policy, policy.String() + " (shadow)"}
	}
	return policy
}

func (p Policy) named(r *isolation.Rule) sim.Policy {
	policy := p.unlabelled(r)
	switch {
	case p.Label != "":
		return labelled{policy, p.Label}
	case p.Rule != "":
		return labelled{policy, policy.String() + " " + p.Rule}
	case p.Preset != nil:
		return labelled{policy, policy.String() + " " + p.Preset.String()}
	}
	return policy
}

func (p Policy) unlabelled(r *isolation.Rule) sim.Policy {
	switch p.Kind {
	case None:
		return sim.None{}
	case Envoy:
		return sim.Envoy{MaxEjection: p.MaxEjection}
	case A50:
		return sim.A50{MaxEjection: p.MaxEjection}
	case Finagle:
		return sim.Finagle{}
	case Consecutive:
		return sim.Consecutive{Failures: p.Failures, Out: p.Out}
	}
	return sim.Cordon{Rule: r, Balance: balance.Options{Strategy: balance.Strategy(p.Balance), LoadBound: p.LoadBound}}
}

// policy checks a policy's options.
func (f *faults) policy(field string, p Policy) {
	if p.Kind == "" {
		f.add(field+".kind", "is missing", "one of "+strings.Join(p.Kind.Values(), ", "))
		return
	}
	only := func(key string, given bool, kinds ...Kind) {
		if given && !slices.Contains(kinds, p.Kind) {
			names := make([]string, len(kinds))
			for i, k := range kinds {
				names[i] = string(k)
			}
			f.add(field+"."+key, fmt.Sprintf("is nothing that the policy %s has", p.Kind), "it with "+strings.Join(names, " or ")+" only")
		}
	}
	only("rule", p.Rule != "", Cordon)
	only("preset", p.Preset != nil, Cordon)
	only("balance", f.written(field+".balance"), Cordon)
	only("loadBound", p.LoadBound != 0, Cordon)
	only("maxEjection", p.MaxEjection != 0, Envoy, A50)
	only("failures", p.Failures != 0, Consecutive)
	only("out", p.Out != 0, Consecutive)
	if p.Rule != "" && p.Preset != nil {
		f.add(field+".preset", "is given besides a rule", "one of them")
	}
	if p.Kind == Cordon && p.LoadBound != 0 && balance.Strategy(p.Balance) != balance.ConsistentHash {
		f.add(field+".loadBound", "is used by consistentHash alone", "balance: consistentHash, or no such field")
	}
	if f.given(field+".loadBound", p.LoadBound != 0) && !(p.LoadBound > 1 && p.LoadBound <= 100) {
		f.add(field+".loadBound", fmt.Sprintf("%v is out of range", p.LoadBound), "above 1 up to 100")
	}
	if f.given(field+".maxEjection", p.MaxEjection != 0) && !(p.MaxEjection > 0 && p.MaxEjection <= 1) {
		f.add(field+".maxEjection", fmt.Sprintf("%v is out of range", p.MaxEjection), "a share of the instances above 0 up to 1")
	}
	if f.given(field+".failures", p.Failures != 0) && p.Failures < 1 {
		f.add(field+".failures", fmt.Sprintf("%d is out of range", p.Failures), "1 or more")
	}
	f.positive(field+".out", p.Out)
}
