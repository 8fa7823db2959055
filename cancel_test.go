package cordon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/system"
)

// cancelRules are sets of rules of which each keeps what a call holds in another place.
func cancelRules() map[string]Rules {
	queue := atMost("queue", "r", 2)
	queue.MaxWait = time.Second
	pace := limit("pace", "r", 10)
	pace.Mode = flow.Pace // nobody waits
	smooth := limit("smooth", "r", 5)
	smooth.Mode = flow.Smooth
	other := limit("other", "r", 2)
	other.Origin = "other"
	trial := limit("trial", "r", 1)
	trial.Shadow = true
	valuePace := perValue("pace", "r", 10)
	valuePace.Mode = paramflow.Pace
	shared := atMost("shared", "r", 2)
	shared.Shared = true
	inbound := []system.Rule{{ID: "places", Metric: system.Concurrency, Limit: 3}, {ID: "rate", Metric: system.Rate, Limit: 6}}
	few := func(r paramflow.Rule) paramflow.Rule { // of whom there are only a few
		r.Values = 100
		return r
	}
	join := func(all ...Rules) (r Rules) {
		for _, o := range all {
			r.Flow, r.Concurrency, r.Breaker = append(r.Flow, o.Flow...), append(r.Concurrency, o.Concurrency...), append(r.Breaker, o.Breaker...)
			r.Param, r.System = append(r.Param, o.Param...), append(r.System, o.System...)
		}
		return r
	}
	b2, b3 := errorBreaker("b2", "r"), errorBreaker("b3", "r")
	b3.Threshold = 0.3
	return map[string]Rules{
		"plain":            join(flowRules(limit("f", "r", 3)), bulkRules(atMost("c", "r", 2)), breakerRules(errorBreaker("b", "r"), b2)),
		"no rules":         {},
		"a rate":           flowRules(limit("f", "r", 3)),
		"a rate by value":  paramRules(few(perValue("v", "r", 2))),
		"values":           join(paramRules(few(perValue("v", "r", 2)), valuesInFlight("places", "r", 1), few(valuePace))),
		"three breakers":   breakerRules(errorBreaker("b", "r"), b2, b3),
		"waiting":          join(bulkRules(queue), flowRules(pace)),
		"smooth":           flowRules(smooth, limit("f", "r", 4)),
		"many rates":       flowRules(limit("1", "r", 6), limit("2", "r", 5), limit("3", "r", 4), limit("4", "r", 4), limit("5", "r", 3), limit("6", "r", 3)),
		"by caller":        join(flowRules(other, trial), bulkRules(shared)),
		"system, plain":    {System: inbound, Flow: flowRules(limit("f", "r", 5)).Flow},
		"system, by value": join(Rules{System: inbound}, paramRules(few(perValue("v", "r", 2)))),
	}
}

// A call that was cancelled is, for all that comes after, one that was never made: an engine with such calls decides as another does that never saw them.
func TestCancelModel(t *testing.T) {
	for name, rules := range cancelRules() {
		t.Run(name, func(t *testing.T) {
			// A limit by rate may give back a little late what was counted, never too early; so time passes in steps after which all is earned back.
			pauses := []time.Duration{3 * time.Second, 6 * time.Second}
			if len(rules.Flow)+len(rules.Param)+len(rules.System) == 0 {
				pauses = []time.Duration{time.Millisecond, 100 * time.Millisecond, 600 * time.Millisecond, 3 * time.Second, 6 * time.Second}
			}
			rapid.Check(t, func(t *rapid.T) {
				clk := clock.NewManual()
				notRun, asked := 0, 0
				opts := []Option{WithClock(clk), WithRules(rules)}
				checked := rapid.Bool().Draw(t, "checkers")
				if checked {
					opts = append(opts, WithChecker(countingChecker{&asked, &notRun}))
				}
				e, err := New(opts...)
				require.NoError(t, err)
				defer e.Close()
				never, err := New(WithClock(clk), WithRules(rules))
				require.NoError(t, err)
				defer never.Close()
				e.resources.get("r").current() // what is made by the first call is made now
				never.resources.get("r").current()
				var open, same []Entry
				cancelled, made := 0, 0
				for range rapid.IntRange(1, 40).Draw(t, "steps") {
					req := Request{Resource: "r", Inbound: true, Origin: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "origin"), Args: []any{rapid.IntRange(1, 3).Draw(t, "value")}}
					if name != "waiting" && name != "values" { // a turn that is given back is one, and no pause before it
						req.Cost = rapid.IntRange(1, 2).Draw(t, "cost")
					}
					switch rapid.IntRange(0, 5).Draw(t, "step") {
					case 0:
						clk.Advance(rapid.SampledFrom(pauses).Draw(t, "pause"))
					case 1, 2:
						if name == "waiting" && len(open) > 0 {
							continue // who would have to wait has nobody to wait for
						}
						req.Cancelable = true
						ent, err := e.Enter(bg, req)
						if err == nil {
							cancelled++
						}
						ent.Cancel()
						ent.Cancel()
						ent.End(Failure)
					case 3:
						if len(open) > 0 {
							o := Outcome(rapid.IntRange(0, 2).Draw(t, "outcome"))
							open[0].End(o)
							same[0].End(o)
							open, same = open[1:], same[1:]
						}
					default:
						if name == "waiting" && len(open) > 0 {
							continue
						}
						req.Cancelable = rapid.Bool().Draw(t, "cancelable") // which changes nothing for a call that is made
						a, errA := e.Enter(bg, req)
						b, errB := never.Enter(bg, req)
						require.Equal(t, errB == nil, errA == nil, "%v, and %v without cancelled calls", errA, errB)
						if errA == nil {
							open, same = append(open, a), append(same, b)
							made++
						} else {
							require.Equal(t, errB.(*BlockedError).Kind, errA.(*BlockedError).Kind)
							require.Equal(t, errB.(*BlockedError).RuleID, errA.(*BlockedError).RuleID)
						}
					}
				}
				a, _ := e.ResourceSnapshot("r")
				b, _ := never.ResourceSnapshot("r")
				require.Equal(t, b.InFlight, a.InFlight)
				require.Equal(t, b.Passed+int64(cancelled), a.Passed)
				require.Equal(t, b.Ignored+int64(cancelled), a.Ignored)
				require.Equal(t, b.Failed, a.Failed)
				require.Equal(t, b.Succeeded, a.Succeeded)
				for i := range b.Rules {
					require.InDelta(t, b.Rules[i].Usage, a.Rules[i].Usage, 1e-9, a.Rules[i].ID)
				}
				if checked {
					require.Equal(t, made, asked-notRun)
				}
			})
		})
	}
}

// Without Cancelable nothing was kept that could be given back: the call ends as one of which nothing is known.
func TestCancelWithoutCancelable(t *testing.T) {
	e, _ := newTest(t, flowRules(limit("f", "r", 2)))
	ent, err := e.Enter(bg, Request{Resource: "r"})
	require.NoError(t, err)
	ent.Cancel()
	require.EqualValues(t, 1, snap(t, e, "r").Ignored)
	require.Equal(t, 1, passes(e, "r", 3))
	var none Entry
	none.Cancel()
	ent, err = e.Enter(bg, Request{Resource: "r", Cancelable: true})
	require.Error(t, err)
	ent.Cancel()
}

// Parts of a call are cancelled each by its own entry, and only the first counts.
func TestCancelParts(t *testing.T) {
	pace := perValue("pace", "r", 1)
	pace.Mode = paramflow.Pace
	e, _ := newTest(t, Rules{Flow: flowRules(limit("f", "r", 1)).Flow, Param: paramRules(perValue("v", "r", 1), valuesInFlight("places", "r", 1), pace).Param})
	for range 5 {
		first, err := e.Enter(bg, Request{Resource: "r", Args: []any{7}, Part: PartAtOnce, Cancelable: true})
		require.NoError(t, err)
		rest, err := e.Enter(bg, Request{Resource: "r", Args: []any{7}, Part: PartMessage | PartWaiting, Cancelable: true})
		require.NoError(t, err)
		rest.Cancel()
		first.Cancel()
	}
	s := snap(t, e, "r")
	require.EqualValues(t, 5, s.Passed)
	require.EqualValues(t, 5, s.Ignored)
	require.Zero(t, s.InFlight)
}

// The probe of a breaker goes to the next call if the one that had it is cancelled.
func TestCancelGivesTheProbeBack(t *testing.T) {
	for _, more := range []int{1, 3} {
		var rules []breaker.Rule
		for i := range more {
			rules = append(rules, errorBreaker(string(rune('a'+i)), "r"))
		}
		e, clk := newTest(t, breakerRules(rules...))
		for range 4 {
			require.NoError(t, call(e, "r", errBoom))
		}
		require.Error(t, call(e, "r", nil))
		clk.Advance(5 * time.Second)
		ent, err := e.Enter(bg, Request{Resource: "r", Cancelable: true})
		require.NoError(t, err)
		require.Error(t, call(e, "r", nil), "there is one probe")
		ent.Cancel()
		require.NoError(t, call(e, "r", nil))
		require.NoError(t, call(e, "r", nil), "its success closed the breaker")
	}
}

// A call that can be cancelled costs few allocations, and none for those that cannot.
func TestCancelableAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	e, err := New(WithRules(Rules{Flow: flowRules(limit("f", "plain", 1e7), limit("g", "lists", 1e7), limit("h", "lists", 1e7)).Flow}))
	require.NoError(t, err)
	defer e.Close()
	for resource, most := range map[string]float64{"plain": 2, "lists": 2} {
		require.LessOrEqual(t, testing.AllocsPerRun(2000, func() {
			ent, err := e.Enter(bg, Request{Resource: resource, Cancelable: true})
			ent.Exit(&err)
		}), most, resource)
	}
}
