package breaker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/stat"
)

// A picker chooses one of n, 0 to n-1.
type picker func(n int) int

func (pick picker) of(vs ...int) int { return vs[pick(len(vs))] }

func (pick picker) ms(vs ...int) time.Duration {
	return time.Duration(pick.of(vs...)) * time.Millisecond
}

// rule makes up a valid rule, small enough that every turn is reached often.
func (pick picker) rule() Rule {
	r := Rule{
		Trip:       Trip(pick(4)),
		Above:      pick(2) == 1,
		Open:       pick.ms(1, 50, 700),
		Probes:     pick(4),
		Successes:  pick(5),
		ProbeLease: pick.ms(0, 100, 450),
		Jitter:     float64(pick.of(0, 0, 25, 50)) / 100,
	}
	if pick(2) == 1 {
		r.MaxOpen = r.Open * time.Duration(1+pick(9))
	}
	if r.Trip.ratio() {
		r.Threshold = float64(1+pick(100)) / 100
	} else {
		r.Threshold = float64(1 + pick(4))
	}
	if r.Trip == SlowRatio {
		r.SlowerThan = pick.ms(10, 20)
	}
	if r.Trip != Consecutive {
		r.Window = pick.ms(100, 300, 1000)
		r.Buckets = pick.of(0, 1, 2, 7)
		r.MinCalls = pick(7)
	}
	return r
}

// step does something, and adds to seen what came of it.
func (p *pair) step(pick picker, seen map[string]int) {
	before := len(p.events)
	outcome := stat.Outcome(pick.of(0, 0, 0, 1, 1, 1, 2))
	n := len(p.holders)
	switch op := pick(20); {
	case op < 7: // a call that ends at once
		if p.acquire() {
			p.done(n, outcome, pick.ms(0, 9, 10, 11, 25), false)
		}
	case op < 10: // one that does not
		p.acquire()
	case op < 12 && n > 0:
		p.done(pick(n), outcome, pick.ms(0, 9, 10, 11, 25), pick(2) == 1)
	case op < 13 && n > 0:
		p.cancel(pick(n))
	case op < 18:
		p.now += pick.ms(1, 1, 14, 50, 100, 333, 1000)
	case op == 18 && pick(2) == 1:
		p.update(pick.rule())
	case op == 18: // the threshold only
		r := p.m.rule
		r.Threshold = map[bool]float64{true: 0.25, false: 2}[r.Trip.ratio()]
		p.update(r)
	case pick(3) == 0: // half of them releases
		p.force(State(pick.of(0, 0, 0, 3, 4, 5)))
	}
	p.check()
	for _, e := range p.events[before:] {
		seen[fmt.Sprint(e.From, " ", e.To)]++
		if e.From == Closed && e.To == Open {
			seen[fmt.Sprint(p.m.rule.Trip, " by ", outcome)]++
		}
	}
}

// start makes a pair with a rule, and a stamp that wraps around soon or not.
func (pick picker) start(t require.TestingT) *pair {
	return newPair(t, pick.rule(), 0, float64(pick(100))/100, []Permit{0, probeFlag - 3}[pick(2)])
}

// Laws 2 and 5, faults #28 #31 #38 #79: whatever is done in whatever order, a breaker does what the model says, its
// events included.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") })
		p := pick.start(t)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			p.step(pick, map[string]int{})
		}
	})
}

// TestModelSeeded is TestModel over one long, fixed run, and makes sure that it is not vacuous: every change of state, and
// every trip by each kind of call that can cause it, happens in it.
func TestModelSeeded(t *testing.T) {
	seen := map[string]int{}
	pick := picker(rand.New(rand.NewPCG(1, 2)).IntN)
	for range 300 {
		p := pick.start(t)
		for range 150 {
			p.step(pick, seen)
		}
	}
	for _, turn := range []string{
		"closed open", "open halfOpen", "halfOpen open", "halfOpen closed",
		"closed forcedOpen", "open forcedClosed", "halfOpen disabled", "halfOpen closed",
		"forcedOpen closed", "forcedClosed closed", "disabled closed",
		"errorRatio by failure", "errorRatio by success", "slowRatio by failure", "slowRatio by success",
		"errorCount by failure", "errorCount by success", "consecutive by failure",
	} {
		require.Positive(t, seen[turn], "%s never happened: %v", turn, seen)
	}
}

// FuzzBreaker is TestModel with the fuzzer choosing, one byte a choice.
func FuzzBreaker(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		seed := make([]byte, 400)
		for i := range seed {
			seed[i] = byte(random.IntN(256))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pick := picker(func(n int) int {
			if len(data) == 0 {
				return 0
			}
			choice := int(data[0]) % n
			data = data[1:]
			return choice
		})
		p := pick.start(t)
		for range 1000 {
			if len(data) == 0 {
				return
			}
			p.step(pick, map[string]int{})
		}
	})
}
