package cordon

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
)

// inPart enters with parts of the checks, with one argument and a header.
func inPart(e *Engine, p Part, arg any) (*Entry, error) {
	ent, err := e.Enter(bg, Request{Resource: "r", Part: p, Args: []any{arg}, Carrier: Values{"tenant": "acme"}})
	return &ent, err
}

func perTenant(id string, n float64) paramflow.Rule {
	return paramflow.Rule{ID: id, Resource: perValue(id, "r", n).Resource, Param: "value.tenant", Limit: n}
}

// Every rule is asked by one part, whatever kind it is of, and the call is counted once.
func TestPartsAskEachRuleOnce(t *testing.T) {
	own := perValue("own", "r", 0)
	own.Param = "own"
	asked := extractor.Func(func(*extractor.Call) (extractor.Value, bool) { return extractor.Int(1), true })
	composite := perValue("composite", "r", 0)
	composite.Param = "value.tenant+arg[0]"
	body := perValue("body", "r", 0)
	body.Param, body.Absent = "body.id", paramflow.Count
	for name, tt := range map[string]struct {
		rules Rules
		in    Part
	}{
		"a rate":                       {flowRules(limit("l", "r", 0)), PartAtOnce},
		"concurrency":                  {bulkRules(atMost("l", "r", 0)), PartAtOnce},
		"a rate by header":             {paramRules(perTenant("l", 0)), PartAtOnce},
		"a rate by argument":           {paramRules(perValue("l", "r", 0)), PartMessage},
		"places by argument":           {paramRules(valuesInFlight("l", "r", 0)), PartMessage},
		"header and argument":          {paramRules(composite), PartMessage},
		"an extractor of one's own":    {paramRules(own), PartMessage},
		"a body that is not there yet": {paramRules(body), PartMessage},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := newTest(t, tt.rules, WithExtractor("own", asked))
			for _, p := range []Part{PartAtOnce, PartWaiting, PartMessage} {
				_, err := inPart(e, p, 7)
				require.Equal(t, p == tt.in, err != nil, "part %d", p)
			}
			_, err := inPart(e, 0, 7)
			require.Error(t, err)
			_, err = inPart(e, allParts, 7)
			require.Error(t, err)
			require.EqualValues(t, 3, blockedOf(t, e))
		})
	}
}

func blockedOf(t *testing.T, e *Engine) (n int64) {
	for _, r := range snap(t, e, "r").Rules {
		n += r.Blocked
	}
	return n
}

// What the parts hold is given back by each one's own entry, and only the first is a call that has ended.
func TestPartsHoldTheirOwn(t *testing.T) {
	queue := atMost("queue", "r", 5)
	queue.MaxWait = time.Second
	rules := bulkRules(atMost("at-once", "r", 5), queue)
	rules.Param = []paramflow.Rule{valuesInFlight("value", "r", 5)}
	e, clk := newTest(t, rules)
	usage := func() (at [3]float64) {
		for i, id := range []string{"at-once", "queue", "value"} {
			rs := snap(t, e, "r").Rules
			at[i] = rs[slices.IndexFunc(rs, func(r RuleSnapshot) bool { return r.ID == id })].Usage
		}
		return at
	}
	first, err := inPart(e, PartAtOnce, 7)
	require.NoError(t, err)
	require.Equal(t, [3]float64{1, 0, 0}, usage())
	second, err := inPart(e, PartWaiting, 7)
	require.NoError(t, err)
	third, err := inPart(e, PartMessage, 7)
	require.NoError(t, err)
	require.Equal(t, [3]float64{1, 1, 1}, usage())
	whole, err := inPart(e, 0, 7)
	require.NoError(t, err)
	require.Equal(t, [3]float64{2, 2, 2}, usage())

	clk.Advance(time.Second)
	third.End(Failure)
	third.End(Failure)
	require.Equal(t, [3]float64{2, 2, 1}, usage())
	first.End(Success)
	require.Equal(t, [3]float64{1, 2, 1}, usage())
	second.End(Failure)
	require.Equal(t, [3]float64{1, 1, 1}, usage())
	whole.End(Success)
	require.Equal(t, [3]float64{}, usage())

	s := snap(t, e, "r")
	require.EqualValues(t, 2, s.Passed)
	require.EqualValues(t, 2, s.Succeeded)
	require.Zero(t, s.Failed)
	require.Zero(t, s.InFlight)
}

// The part that is asked under a lock never waits; the one that may waits as a whole call does.
func TestOnlyTheWaitingPartWaits(t *testing.T) {
	queue := atMost("queue", "r", 1)
	queue.MaxWait = time.Minute
	paced := perTenant("paced", 1)
	paced.Mode, paced.MaxWait = paramflow.Pace, time.Minute
	for name, rules := range map[string]Rules{
		"a queue":             bulkRules(queue),
		"a pace":              flowRules(flow.Rule{ID: "pace", Resource: queue.Resource, Limit: 1, Mode: flow.Pace, MaxWait: time.Minute}),
		"a pace by its value": paramRules(paced),
	} {
		t.Run(name, func(t *testing.T) {
			e, clk := newTest(t, rules)
			held, err := inPart(e, 0, 7)
			require.NoError(t, err)
			at, err := inPart(e, PartAtOnce|PartMessage, 7)
			require.NoError(t, err, "nothing that waits is asked")
			at.End(Success)
			ctx, cancel := context.WithCancel(bg)
			came := make(chan error)
			go func() {
				_, err := e.Enter(ctx, Request{Resource: "r", Part: PartWaiting, Carrier: Values{"tenant": "acme"}})
				came <- err
			}()
			clk.BlockUntil(1)
			cancel()
			require.ErrorIs(t, <-came, context.Canceled)
			held.End(Success)
			require.Zero(t, snap(t, e, "r").InFlight)
		})
	}
}

// Parts of a call that nothing asks about cost nothing, and a closed engine asks nobody.
func TestPartsWithNothingToAsk(t *testing.T) {
	e, _ := newTest(t, flowRules(limit("l", "r", 1)))
	rest, err := inPart(e, PartWaiting|PartMessage, 7)
	require.NoError(t, err)
	require.Equal(t, Entry{}, *rest)
	require.Zero(t, snap(t, e, "r").Passed)

	apply(t, e, paramRules(perValue("l", "r", 0)))
	dead, cancel := context.WithCancel(bg)
	cancel()
	_, err = e.Enter(dead, Request{Resource: "r", Part: PartMessage})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, e.Close())
	_, err = inPart(e, PartMessage, 7)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := e.Enter(bg, Request{Resource: "r", Part: PartMessage}); err != nil {
			t.Error(err)
		}
	}))
}

// However a call is cut into parts, it is admitted if and only if the whole would be, and nothing is left.
func TestPartsAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := Rules{
			Concurrency: []flow.ConcurrencyRule{atMost("c", "r", rapid.IntRange(0, 3).Draw(t, "at once"))},
			Param: []paramflow.Rule{
				valuesInFlight("v", "r", float64(rapid.IntRange(0, 3).Draw(t, "of a value"))),
				perTenant("h", float64(rapid.IntRange(0, 9).Draw(t, "of a tenant"))),
			},
		}
		rules.Param[1].Mode = paramflow.Concurrency
		whole, err := New(WithRules(rules))
		require.NoError(t, err)
		parted, err := New(WithRules(rules))
		require.NoError(t, err)
		cuts := [][]Part{{PartAtOnce, PartWaiting, PartMessage}, {PartAtOnce | PartWaiting, PartMessage}, {PartAtOnce, PartWaiting | PartMessage}}
		type flying struct {
			whole *Entry
			parts []*Entry
		}
		var all []flying
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			if n := len(all); n > 0 && rapid.Bool().Draw(t, "ends") {
				f := all[n-1]
				all = all[:n-1]
				f.whole.End(Success)
				for _, p := range f.parts {
					p.End(Success)
				}
				continue
			}
			arg := rapid.IntRange(1, 2).Draw(t, "arg")
			w, want := inPart(whole, 0, arg)
			f := flying{whole: w}
			var got error
			for _, p := range rapid.SampledFrom(cuts).Draw(t, "cut") {
				var ent *Entry
				if ent, got = inPart(parted, p, arg); got != nil {
					break
				}
				f.parts = append(f.parts, ent)
			}
			require.Equal(t, want == nil, got == nil)
			if got != nil {
				for _, p := range f.parts {
					p.End(Ignored)
				}
				continue
			}
			all = append(all, f)
		}
		for _, f := range all {
			for _, p := range f.parts {
				p.End(Success)
			}
		}
		s, ok := parted.ResourceSnapshot("r")
		require.True(t, ok)
		require.Zero(t, s.InFlight)
		for _, r := range s.Rules {
			require.Zero(t, r.Usage, r.ID)
		}
	})
}
