package isolation

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// gate holds that what a call does allocates nothing.
func gate(t *testing.T, what string, do func()) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	require.Zero(t, testing.AllocsPerRun(1000, do), what)
}

// Neither a success nor a failure that decides nothing allocates, whatever the rule asks for and however many instances there are.
func TestCallsAllocateNothing(t *testing.T) {
	for _, n := range []int{1, 2, 1000} {
		for name, r := range map[string]Rule{"default": {}, "all": {MinSuccessRate: .01, LocalErrors: 500}, "shadow": {Shadow: true}} {
			p := newPlay(t, r, n)
			list := instances(n)
			for i := range list {
				list[i].Region = string(rune('a' + i%3))
			}
			p.g.Update(p.now, list)
			turn := 0
			call := func(o Outcome) {
				p.now += 1
				v := p.g.View(p.now)
				turn++
				c, ok := v.Candidates[turn%len(v.Candidates)].Member.Begin(p.now)
				if !ok {
					t.Fatal("refused")
				}
				c.End(p.now, o)
			}
			for _, o := range []Outcome{Success, Ignored, Failure, Throttled, LocalError} {
				gate(t, name+" "+o.String(), func() {
					call(o)
					for range 60 {
						call(Success)
					}
				})
			}
			require.Empty(t, p.events)
		}
	}
}

// A failure for which the whole ratio is worked out allocates nothing either, nor does a call that a quarantine refuses, a failure of one that is held, or a
// report.
func TestTheRareCallsAllocateNothing(t *testing.T) {
	p := newPlay(t, Rule{MaxShare: .01}, 5)
	p.sicken(0)
	p.sicken(1, 0)
	members := []*Member{p.member(0), p.member(1)}
	end := func(i int) bool {
		c, ok := members[i].Begin(p.now)
		if ok {
			c.End(p.now, Failure)
		}
		return ok
	}
	gate(t, "refused", func() {
		if end(0) {
			t.Fatal("it is out")
		}
	})
	gate(t, "held", func() {
		if !end(1) {
			t.Fatal("it is in service")
		}
	})
	reported := address(2)
	gate(t, "reported", func() { p.g.Report(p.now, reported, Success, ms) })
	par := at(Rule{}, 5)
	gate(t, "ratio", func() {
		if par.ratio(100, 20, 400, 1) < 14 {
			t.Fatal("no evidence")
		}
	})
}

// An instance takes at most 500 bytes: its member with its detector, its name, its place in the list, in the map and in the view.
func TestBytesPerInstance(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const n = 10_000
	list := instances(n)
	for i := range list {
		list[i].Region = "eu-west-1a"
	}
	before := heap()
	g, err := NewGroup("orders", Config{Rule: &Rule{}})
	require.NoError(t, err)
	g.Update(0, list)
	for k := range 100 {
		for _, c := range g.View(sec).Candidates {
			call, ok := c.Member.Begin(sec)
			require.True(t, ok)
			o := Success
			if k == 50 {
				o = Failure
			}
			call.End(sec, o)
		}
	}
	each := float64(heap()-before) / n
	t.Logf("%.0f bytes per instance", each)
	require.Less(t, each, 500.)
	runtime.KeepAlive(g)
	runtime.KeepAlive(list)
}
