package isolation

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawRule draws a rule with any of its fields left out, at an end of its range or within.
func drawRule(t *rapid.T) *Rule {
	if rapid.IntRange(0, 9).Draw(t, "no rule") == 0 {
		return nil
	}
	r := Rule{
		Preset: Preset(rapid.IntRange(0, 2).Draw(t, "preset")), Shadow: rapid.IntRange(0, 5).Draw(t, "shadow") == 0,
		MayEmpty: rapid.IntRange(0, 5).Draw(t, "may be empty") == 0, NoFallback: rapid.Bool().Draw(t, "no fallback"),
		SlowStartNew: rapid.Bool().Draw(t, "slow start of the new"),
	}
	v := reflect.ValueOf(&r).Elem()
	typ := v.Type()
	for i := range typ.NumField() {
		f := typ.Field(i)
		b, ok := bounds[f.Name]
		if !ok || rapid.IntRange(0, 2).Draw(t, f.Name+" is given") > 0 {
			continue
		}
		switch least := b.in[0].(type) {
		case int:
			v.Field(i).SetInt(int64(rapid.IntRange(least, min(b.in[1].(int), 50*least)).Draw(t, f.Name)))
		case float64:
			v.Field(i).SetFloat(rapid.Float64Range(least, b.in[1].(float64)).Draw(t, f.Name))
		case time.Duration:
			v.Field(i).SetInt(rapid.Int64Range(int64(least), min(int64(b.in[1].(time.Duration)), 100*int64(least))).Draw(t, f.Name))
		}
	}
	if r.MinSuccessRate == 0 {
		r.Window, r.MinCalls = 0, 0
	}
	r.AbsoluteOnly = r.MinSuccessRate != 0 && rapid.Bool().Draw(t, "absolute only")
	if d := r.WithDefaults(); r.Max != 0 && r.Max < d.Base {
		r.Max = 0
	}
	if d := r.WithDefaults(); r.PeersFailing != 0 && r.PeersFailing < d.PeersNoisy {
		r.PeersFailing = 0
	}
	return &r
}

// drawList draws a list of instances, with faults.
func drawList(t *rapid.T) []Instance {
	list := make([]Instance, rapid.IntRange(0, 12).Draw(t, "list"))
	for i := range list {
		list[i] = Instance{
			Address: address(rapid.IntRange(0, 11).Draw(t, "address")), Region: rapid.SampledFrom([]string{"", "a", "a", "b"}).Draw(t, "region"),
			Weight:  rapid.SampledFrom([]float64{0, 1, 1, 1, 3, -1, 1e300}).Draw(t, "weight"),
			Drained: rapid.IntRange(0, 7).Draw(t, "drained") == 0,
		}
		if rapid.IntRange(0, 20).Draw(t, "no address") == 0 {
			list[i].Address = ""
		}
	}
	return list
}

// run plays a drawn game with a group, and checks what must hold after each move.
func run(t *rapid.T) {
	now := time.Duration(0)
	first := drawRule(t)
	g, err := NewGroup("orders", Config{Rule: first, Seed: 7, OnEvent: func(e Event) {
		require.NotEmpty(t, e.Reason)
		require.LessOrEqual(t, e.At, now)
		require.True(t, e.Kind != EventQuarantined || e.Until > e.At, "%+v", e)
		require.LessOrEqual(t, e.Sick, e.Instances)
	}})
	require.NoError(t, err, "%+v", first)
	defer g.Close()
	g.Update(now, instances(5))
	var calls []Call
	sick := map[string]Outcome{}
	probes := map[*Member]int{}
	end := func(i int, o Outcome) {
		c := calls[i]
		if c.Probe() {
			probes[c.Member()]--
		}
		c.End(now, o)
		calls[i] = calls[len(calls)-1]
		calls = calls[:len(calls)-1]
	}
	begin := func(m *Member) bool {
		c, ok := m.Begin(now)
		if ok {
			calls = append(calls, c)
			if c.Probe() {
				probes[m]++
				lease := g.params.Load().rule.ProbeLease
				open := 0
				for i := range calls {
					if calls[i].Probe() && calls[i].member == m && calls[i].gate == c.gate && now-calls[i].start < lease {
						open++
					}
				}
				require.Equal(t, 1, open, "one probe at a time")
			}
		}
		return ok
	}
	moves := map[string]func(*rapid.T){
		"calls": func(t *rapid.T) {
			n := rapid.IntRange(1, 200).Draw(t, "calls")
			step := time.Duration(rapid.Int64Range(0, int64(50*ms)).Draw(t, "step"))
			for k := range n {
				now += step
				candidates := g.View(now).Candidates
				if len(candidates) == 0 {
					return
				}
				m := candidates[k%len(candidates)].Member
				if !begin(m) {
					continue
				}
				o := sick[m.Address()]
				if o == Throttled && k%5 > 0 {
					o = Success
				}
				end(len(calls)-1, o)
			}
		},
		"begin": func(t *rapid.T) {
			if candidates := g.View(now).Candidates; len(candidates) > 0 && len(calls) < 100 {
				begin(candidates[rapid.IntRange(0, len(candidates)-1).Draw(t, "candidate")].Member)
			}
		},
		"end": func(t *rapid.T) {
			if len(calls) > 0 {
				end(rapid.IntRange(0, len(calls)-1).Draw(t, "call"), Outcome(rapid.IntRange(0, int(Ignored)).Draw(t, "outcome")))
			}
		},
		"sicken": func(t *rapid.T) {
			sick[address(rapid.IntRange(0, 11).Draw(t, "which"))] = Outcome(rapid.IntRange(0, int(Ignored)).Draw(t, "outcome"))
		},
		"outage": func(t *rapid.T) {
			o := rapid.SampledFrom([]Outcome{Success, Failure}).Draw(t, "outcome")
			for i := range 12 {
				sick[address(i)] = o
			}
		},
		"update": func(t *rapid.T) { g.Update(now, drawList(t)) },
		"report": func(t *rapid.T) {
			g.Report(now, address(rapid.IntRange(0, 12).Draw(t, "which")), Outcome(rapid.IntRange(0, int(Ignored)).Draw(t, "outcome")), ms)
		},
		"rule": func(t *rapid.T) {
			if r := drawRule(t); rapid.IntRange(0, 3).Draw(t, "change") == 0 {
				require.NoError(t, g.SetRule(now, r), "%+v", r)
			}
		},
		"faulty rule": func(t *rapid.T) { require.Error(t, g.SetRule(now, &Rule{MinGap: -1})) },
		"pin": func(t *rapid.T) {
			length := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "length"))
			_ = g.Pin(now, address(rapid.IntRange(0, 12).Draw(t, "which")), rapid.Bool().Draw(t, "in"), length)
		},
		"unpin":   func(t *rapid.T) { _ = g.Unpin(now, address(rapid.IntRange(0, 12).Draw(t, "which"))) },
		"checked": func(t *rapid.T) { g.Checked(now, address(rapid.IntRange(0, 12).Draw(t, "which"))) },
		"wait": func(t *rapid.T) {
			now += time.Duration(rapid.Int64Range(0, int64(rapid.SampledFrom([]time.Duration{sec, time.Minute, time.Hour}).Draw(t, "scale"))).Draw(t, "wait"))
			g.Tick(now)
		},
		"": func(t *rapid.T) {
			check(t, g, now)
			due := time.Duration(g.due.Load())
			require.Greater(t, due, now, "what is due has been done")
			s := g.Snapshot(now)
			require.Len(t, s.Instances, len(g.list))
			inFlight := map[string]int{}
			for i := range calls {
				if m := calls[i].Member(); g.Member(m.Address()) == m {
					inFlight[m.Address()]++
				}
			}
			for _, in := range s.Instances {
				w, ok := g.Why(now, in.Address)
				require.True(t, ok)
				require.Equal(t, in, w.InstanceSnapshot)
				require.Equal(t, inFlight[in.Address], in.InFlight)
				require.LessOrEqual(t, in.Failures, in.Calls)
				require.GreaterOrEqual(t, in.Left, time.Duration(0))
			}
			require.EqualValues(t, len(calls), g.all.inFlight(), "calls under way are those that did not end")
		},
	}
	t.Repeat(moves)
	for len(calls) > 0 {
		end(0, Failure)
	}
	require.Zero(t, g.all.inFlight())
}

func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { run(t) })
}

// The same seed and the same calls give the same events, to the letter.
func TestEqualSeedsAreEqual(t *testing.T) {
	t.Parallel()
	play := func(seed uint64) (said []string) {
		g, err := NewGroup("orders", Config{Rule: &Rule{}, Seed: seed, OnEvent: func(e Event) { said = append(said, fmt.Sprintf("%+v", e)) }})
		require.NoError(t, err)
		g.Update(0, instances(7))
		now := time.Duration(0)
		for k := range 60_000 {
			now += 5 * ms
			candidates := g.View(now).Candidates
			m := candidates[k%len(candidates)].Member
			if c, ok := m.Begin(now); ok {
				o := Success
				if m.Address() < address(2) && k%3 > 0 || k%40_000 > 30_000 && m.Address() != address(6) {
					o = Failure
				}
				c.End(now, o)
			}
		}
		return said
	}
	a, b, c := play(5), play(5), play(6)
	require.Greater(t, len(a), 10)
	require.Equal(t, a, b)
	require.NotEqual(t, a, c)
}
