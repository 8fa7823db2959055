package isolation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The story of an illness, told by its events in order, with the numbers that decided.
func TestEventsTellTheStory(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{ID: "r", Jitter: still}, 5)
	began := p.now
	p.sicken(0)
	p.failProbe(0)
	p.heal(0)
	p.wait(time.Minute)
	var kinds []string
	last := began
	for _, e := range p.events {
		kinds = append(kinds, e.Kind.String())
		require.Equal(t, "orders", e.Service)
		require.Equal(t, "r", e.RuleID)
		require.Equal(t, address(0), e.Address)
		require.Equal(t, 5, e.Instances)
		require.NotEmpty(t, e.Reason)
		require.False(t, e.Shadow)
		require.GreaterOrEqual(t, e.At, last)
		last = e.At
	}
	require.Equal(t, []string{"quarantined", "probing", "quarantined", "probing", "readmitted", "in service"}, kinds)
	v := p.events[0].Evidence
	require.Contains(t, []string{"peers", "gross"}, v.Criterion)
	require.GreaterOrEqual(t, v.Nats, v.Bound)
	require.GreaterOrEqual(t, v.Bound, 14+1.6, "the evidence asked for, and the logarithm of five")
	require.Equal(t, v.Calls, v.Failures)
	require.Equal(t, 1., v.Rate())
	require.Zero(t, v.PeerRate())
	require.Greater(t, v.PeerCalls, v.Calls)
	require.Equal(t, 1, p.events[0].Sick)
	require.Regexp(t, `^\d+ of \d+ calls failed \(100%\) while 0 of \d+ calls to its peers did \(0%\): [\d.]+ nats, it takes [\d.]+$`, p.events[0].Reason)
	require.Regexp(t, `^1 of 1 probes failed, while 0 of \d+ calls to its peers did`, p.events[2].Reason)
	require.Equal(t, []float64{1, 1, 2, 2, 2, 1.7}, []float64{
		p.events[0].Strikes, p.events[1].Strikes, p.events[2].Strikes, p.events[3].Strikes, p.events[4].Strikes, p.events[5].Strikes,
	})
	require.Equal(t, "3 probes in a row succeeded; its share grows from 10% to all within 15s", p.events[4].Reason)
	require.Equal(t, p.events[4].At+15*sec, p.events[4].Until)
	require.Equal(t, 0, p.events[5].Sick)
}

func TestEventKinds(t *testing.T) {
	t.Parallel()
	want := []string{"quarantined", "probing", "readmitted", "in service", "held", "fallback on", "fallback off", "pinned", "unpinned"}
	for k := EventQuarantined; k <= EventUnpinned; k++ {
		require.Equal(t, want[k], k.String())
		text, err := k.MarshalText()
		require.NoError(t, err)
		require.Equal(t, want[k], string(text))
		var back EventKind
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, k, back)
	}
	require.Equal(t, "event(9)", EventKind(9).String())
	for o, want := range []string{"success", "failure", "throttled", "local error", "ignored", "abandoned", "outcome(6)"} {
		require.Equal(t, want, Outcome(o).String())
	}
}

// OnEvent is told with no lock held, so that it may call the group, and what follows from that is told after it.
func TestOnEventMayCallTheGroup(t *testing.T) {
	t.Parallel()
	var g *Group
	var told []string
	depth := 0
	g, err := NewGroup("orders", Config{Rule: &Rule{}, Seed: 1, OnEvent: func(e Event) {
		depth++
		require.Equal(t, 1, depth, "one at a time")
		told = append(told, e.Kind.String()+" "+e.Address)
		if e.Kind == EventQuarantined {
			require.NoError(t, g.Pin(e.At, e.Address, true, time.Minute))
			g.Snapshot(e.At)
			g.Update(e.At, instances(6))
			require.NoError(t, g.SetRule(e.At, &Rule{Preset: Quick}))
			_, ok := g.Why(e.At, e.Address)
			require.True(t, ok)
			require.NoError(t, g.Unpin(e.At, e.Address))
		}
		depth--
	}})
	require.NoError(t, err)
	p := &play{t: t, g: g, n: 5, now: time.Minute}
	g.Update(p.now, instances(5))
	for len(told) == 0 {
		p.calm(1, 0)
		p.call(0, Failure)
	}
	a := address(0)
	require.Equal(t, []string{"quarantined " + a, "pinned " + a, "unpinned " + a}, told)
	check(t, g, p.now)
}

// A panic of OnEvent reaches whoever made the call, and the group goes on: nothing is locked, and the events that were to come come.
func TestAPanicOfOnEvent(t *testing.T) {
	t.Parallel()
	var told []Event
	broken := true
	g, err := NewGroup("orders", Config{Rule: &Rule{}, OnEvent: func(e Event) {
		told = append(told, e)
		if broken {
			panic("listener")
		}
	}})
	require.NoError(t, err)
	g.Update(0, instances(5))
	require.PanicsWithValue(t, "listener", func() { _ = g.Pin(0, address(0), false, sec) })
	require.PanicsWithValue(t, "listener", func() { _ = g.Pin(0, address(1), false, sec) })
	require.Len(t, told, 2)
	require.PanicsWithValue(t, "listener", func() { g.Tick(sec) }, "two pins end, the first is told")
	require.Len(t, told, 3)
	broken = false
	g.Tick(20 * sec)
	require.Len(t, told, 6, "the second is told with what follows")
	for i, kind := range []EventKind{EventPinned, EventPinned, EventUnpinned, EventUnpinned, EventInService, EventInService} {
		require.Equal(t, kind, told[i].Kind)
	}
	check(t, g, 20*sec)
}

// Without a listener nothing is kept for one.
func TestNoListener(t *testing.T) {
	t.Parallel()
	g, err := NewGroup("orders", Config{Rule: &Rule{}})
	require.NoError(t, err)
	g.Update(0, instances(5))
	require.NoError(t, g.Pin(0, address(0), false, 0))
	require.Empty(t, g.pending)
}

func TestEvidenceInWords(t *testing.T) {
	t.Parallel()
	e := Evidence{Calls: 20, Failures: 5, PeerCalls: 200, PeerFailures: 1, Nats: 17.26, Bound: 15.6}
	for criterion, want := range map[string]string{
		"":             "nothing speaks against it",
		"peers":        "5 of 20 calls failed (25%) while 1 of 200 calls to its peers did (0.5%): 17.3 nats, it takes 15.6",
		"local errors": "17 calls in a row could not reach it, while 1 of 200 calls to its peers did (0.5%)",
		"probes":       "5 of 20 probes failed, while 1 of 200 calls to its peers did (0.5%)",
	} {
		e.Criterion = criterion
		require.Equal(t, want, e.String())
	}
	e.Criterion, e.Nats, e.Bound = "absolute", .75, .95
	require.Equal(t, "5 of 20 calls failed (25%), 75% succeeded, the rule wants 95%", e.String())
	require.Zero(t, (&Evidence{}).Rate())
	require.Zero(t, (&Evidence{}).PeerRate())
}

// Why, Snapshot and the events say the same, and JSON keeps it.
func TestWhyAndSnapshotAgreeWithEvents(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{ID: "r", Jitter: still, MaxShare: .2}, 5)
	list := instances(6)
	list[5].Drained = true
	list[4].Region = "b"
	p.g.Update(p.now, list)
	agree := func() Snapshot {
		s := p.g.Snapshot(p.now)
		counted := map[State]int{}
		for _, in := range s.Instances {
			w, ok := p.g.Why(p.now, in.Address)
			require.True(t, ok)
			require.Equal(t, in, w.InstanceSnapshot)
			require.Equal(t, in.State == InService, in.Reason == "", "%s: %q", in.State, in.Reason)
			counted[in.State]++
			if w.Until != 0 {
				require.Equal(t, w.Until-p.now, in.Left)
			}
			text, err := json.Marshal(w)
			require.NoError(t, err)
			var back Why
			require.NoError(t, json.Unmarshal(text, &back))
			require.Equal(t, w, back)
		}
		require.Equal(t, counted[Quarantined]+counted[Probing]+counted[PinnedOut], s.Out)
		require.Equal(t, counted[Held], s.Held)
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var back Snapshot
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, s, back)
		return s
	}
	e := p.sicken(0)
	s := agree()
	require.Equal(t, "r", s.RuleID)
	require.EqualValues(t, 1, s.Quarantines)
	require.Equal(t, e.Reason, s.Instances[0].Reason)
	require.Equal(t, Drained, s.Instances[5].State)
	require.Zero(t, s.Instances[0].Weight+s.Instances[5].Weight)
	w, _ := p.g.Why(p.now, address(0))
	require.Equal(t, e.Evidence, w.Verdict)
	require.Equal(t, e.Until, w.Until)
	require.Equal(t, e.At, w.At)

	h := p.sicken(1, 0)
	require.Equal(t, h.Reason, agree().Instances[1].Reason)
	w, _ = p.g.Why(p.now, address(1))
	require.NotEmpty(t, w.Now.Criterion, "the evidence of now stands against one that is held")
	p.till(p.member(0).until)
	p.call(0, Success)
	require.Equal(t, fmt.Sprint("probed: 1 of 3 in a row; before: ", e.Reason), agree().Instances[0].Reason)
	p.wait(sec)
	p.call(0, Success)
	p.wait(sec)
	p.call(0, Success)
	require.Equal(t, "its share of the traffic grows", agree().Instances[0].Reason)
	require.Equal(t, 15*sec, agree().Instances[0].Left)
	require.NoError(t, p.g.Pin(p.now, address(2), true, time.Minute))
	require.Equal(t, "by hand", agree().Instances[2].Reason)
	require.NoError(t, p.g.Pin(p.now, address(0), false, 0))
	agree()
	p.wait(time.Hour)
	agree()
}

// Strikes are counted one way: an event, a snapshot and Why say the same at the same moment.
func TestStrikesAreCountedOneWay(t *testing.T) {
	t.Parallel()
	var g *Group
	seen := map[EventKind]int{}
	g, err := NewGroup("orders", Config{Rule: &Rule{MaxShare: .2, StrikeHalfLife: time.Minute, Base: 100 * ms}, Seed: 1, OnEvent: func(e Event) {
		if e.Address == "" {
			return
		}
		seen[e.Kind]++
		w, ok := g.Why(e.At, e.Address)
		require.True(t, ok)
		if e.At >= w.At { // else the instance has gone on meanwhile
			require.Equal(t, e.Strikes, w.Strikes, "%v at %v", e.Kind, e.At)
		}
	}})
	require.NoError(t, err)
	defer g.Close()
	g.Update(0, instances(5))
	p := &play{t: t, g: g, n: 5}
	for n := range 60_000 {
		p.now += 10 * ms
		g.Tick(p.now)
		for i := range 5 {
			o := Success
			if i < 2 && n/500%3 == 1 {
				o = Failure
			}
			p.call(i, o)
		}
		if n%9000 == 8999 {
			require.NoError(t, g.Pin(p.now, address(0), n%2 == 0, sec))
		}
	}
	for _, k := range []EventKind{EventQuarantined, EventProbing, EventReadmitted, EventInService, EventHeld, EventPinned, EventUnpinned} {
		require.NotZero(t, seen[k], "%v", k)
	}
	require.Greater(t, g.Snapshot(p.now).Quarantines, int64(10))
}

// Good service is that in service: neither a pin out nor a fallback takes strikes away, for a time or for good.
func TestStrikesOfThoseThatDoNotServe(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	p.sicken(0)
	require.NoError(t, p.g.Pin(p.now, address(0), false, 0))
	p.wait(time.Hour)
	require.Equal(t, 1., p.g.Snapshot(p.now).Instances[0].Strikes)
	require.NoError(t, p.g.Pin(p.now, address(0), true, 0))
	require.Equal(t, 1., p.g.Snapshot(p.now).Instances[0].Strikes)
	p.wait(5 * time.Minute)
	require.Equal(t, .5, p.g.Snapshot(p.now).Instances[0].Strikes)
}

// Events are written as snapshots are, with names in lower case, and read again.
func TestEventsAsJSON(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{ID: "r", Shadow: true}, 5)
	e := p.sicken(0)
	text, err := json.Marshal(e)
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(text, &keys))
	require.ElementsMatch(t, []string{"service", "address", "kind", "at", "reason", "rule", "evidence", "strikes", "until", "sick", "instances", "shadow"},
		slices.Collect(maps.Keys(keys)))
	require.Equal(t, "quarantined", keys["kind"])
	var back Event
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, e, back)

	k := EventHeld
	require.EqualError(t, k.UnmarshalText([]byte("cured")),
		`isolation: no such kind of event: "cured"; want one of quarantined, probing, readmitted, in service, held, fallback on, fallback off, pinned, unpinned`)
	require.Equal(t, EventHeld, k)
}
