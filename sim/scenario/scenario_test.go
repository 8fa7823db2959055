package scenario

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sim"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every fault of a document is named, with its place and what would be right.
func TestFaults(t *testing.T) {
	paths, err := filepath.Glob("testdata/faults/*.[yj]*")
	require.NoError(t, err)
	require.Greater(t, len(paths), 10)
	for _, path := range paths {
		if strings.HasSuffix(path, ".golden") {
			continue
		}
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			_, err = Parse(name, data, func(name string) ([]byte, error) {
				if strings.HasPrefix(name, "no") {
					return nil, errors.New("there is no such file")
				}
				return os.ReadFile(filepath.Join("testdata", name))
			})
			require.Error(t, err)
			golden := strings.TrimSuffix(path, filepath.Ext(path)) + ".golden"
			got := whole(err) + "\n"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// whole lists all problems of an error, also where the error lists only the first.
func whole(err error) string {
	var list rule.Problems
	if !errors.As(err, &list) {
		return err.Error()
	}
	lines := make([]string, len(list))
	for i, p := range list {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

func load(t *testing.T, name string) *File {
	t.Helper()
	f, err := Load(filepath.Join("testdata", name))
	require.NoError(t, err)
	return f
}

func TestEverythingComesThrough(t *testing.T) {
	t.Parallel()
	f := load(t, "everything.yaml")
	require.Empty(t, f.Warnings)
	require.Equal(t, 3, f.Seeds)
	s := f.Scenario
	require.NoError(t, s.Validate())
	require.Equal(t, []string{"i0", "i1", "sick", "far-0", "far-1"}, []string{
		s.Instances[0].Address, s.Instances[1].Address, s.Instances[2].Address, s.Instances[3].Address, s.Instances[4].Address,
	})
	lost := sim.During{Span: sim.Span{From: 30 * time.Minute, Until: 31 * time.Minute}, Condition: sim.Dead()}
	require.Equal(t, sim.Instance{
		Address: "i1", Region: "east", Weight: 2, Capacity: 100, Workers: 8, Queue: 20, Ill: []sim.Script{},
		Base: sim.Condition{Failures: .001, Throttles: .01, Latency: sim.Fixed(20 * time.Millisecond), FailFast: true},
	}, s.Instances[1])
	sick := s.Instances[2]
	require.Equal(t, sim.Condition{Latency: sim.Uniform{Min: time.Millisecond, Max: 3 * time.Millisecond}}, sick.Base)
	require.Equal(t, []sim.Script{
		sim.During{Span: sim.Span{From: time.Minute, Until: 2 * time.Minute}, Condition: sim.Condition{
			Failures: .5, Throttles: .1, FailFast: true, Latency: sim.Exponential{Min: 10 * time.Millisecond, Mean: 20 * time.Millisecond},
		}},
		sim.Flapping{Span: sim.Span{From: 3 * time.Minute, Until: 5 * time.Minute}, Bad: 5 * time.Second, Good: 10 * time.Second, Condition: sim.Dead()},
		sim.Noisy{Min: .1, Max: .3, Every: 3 * time.Second},
		sim.Shocks{Every: 20 * time.Second, Shortest: 200 * time.Millisecond, Longest: 2 * time.Second, Min: .3, Max: .9},
		sim.Shocks{Every: 20 * time.Second, Longest: 2 * time.Second, Max: 1},
		sim.Restart{
			At: 10 * time.Minute, Every: 20 * time.Minute, Down: 5 * time.Second, Warmup: 30 * time.Second,
			Slow: sim.LogNormal{Median: 100 * time.Millisecond, P99: time.Second},
		},
		sim.From(50*time.Minute, sim.Hung()),
		lost,
	}, sick.Ill)
	require.Equal(t, []sim.Script{lost}, s.Instances[4].Ill)
	require.Equal(t, []sim.Span{{From: 20 * time.Minute, Until: 21 * time.Minute}}, sick.Absent)
	require.Equal(t, []sim.Span{{Until: 10 * time.Second}, {From: 59 * time.Minute}}, sick.Drained)
	require.Equal(t, "own", sick.Guard.Rules.Concurrency[0].ID)
	require.Nil(t, s.Instances[3].Guard)

	require.Equal(t, sim.Scenario{
		Name: "orders", Length: time.Hour, Seed: 7, Bucket: 10 * time.Second, Tick: 50 * time.Millisecond, Grace: 2 * time.Second,
		Common:    []sim.Script{sim.Between(40*time.Minute, 41*time.Minute, sim.Fails(1))},
		Instances: s.Instances, Clients: s.Clients,
	}, s)
	require.Len(t, s.Clients, 3)
	guard := s.Clients[0].Guard
	require.Equal(t, "read", guard.Rules.Flow[0].ID)
	require.Empty(t, guard.Rules.Isolation)
	require.Equal(t, sim.Client{Name: "c0", Loads: []sim.Load{{Rate: 10}}, Timeout: 3 * time.Second, Guard: guard}, s.Clients[0])
	require.Equal(t, sim.Client{
		Name: "web-1", Region: "east", Timeout: time.Second, Guard: guard,
		Loads: []sim.Load{{Rate: 5}, {
			Rate: 3, Resource: "orders.Read", Steady: true, Changes: []sim.RateChange{{At: time.Minute}, {At: 2 * time.Minute, Rate: 9}},
		}},
		Retry:  sim.Retry{Max: 2, Wait: 10 * time.Millisecond, Budget: .2, BudgetMin: 5},
		Policy: sim.Consecutive{Failures: 3, Out: 10 * time.Second},
	}, s.Clients[2])

	all, strict := f.Policies[0].(sim.Cordon), f.Policies[1].(labelled).Policy.(sim.Cordon)
	require.Equal(t, "all", all.Rule.ID)
	require.Equal(t, time.Second, strict.Rule.Base)
	require.Equal(t, balance.Options{Strategy: balance.ConsistentHash, LoadBound: 2}, strict.Balance)
	require.Equal(t, &isolation.Rule{Preset: isolation.Quick}, f.Policies[2].(labelled).Policy.(sim.Cordon).Rule)
	require.Equal(t, []string{"cordon", "cordon strict", "cordon quick", "envoy as it is", "A50", "Finagle", "none"}, policyNames(f))
	require.Equal(t, sim.Envoy{MaxEjection: .1}, f.Policies[3].(labelled).Policy)
}

// Whoever reads a table of what a rule in shadow would have done is told that it did not.
func TestShadowIsSaid(t *testing.T) {
	t.Parallel()
	const head = "cordon-sim: 1\nlength: 1m\nservice: orders\ninstances: [{count: 3}]\nclients: [{load: 1}]\n"
	rules := "rules: {isolation: [{id: a, service: orders, shadow: true}, {id: b, service: b}]}\n"
	f, err := Parse("s.yaml", []byte(head+rules+"policies: [cordon, {kind: cordon, label: mine}, {kind: cordon, rule: a}, {kind: cordon, rule: b}, none]"), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"cordon (shadow)", "mine (shadow)", "cordon a (shadow)", "cordon b", "none"}, policyNames(f))
}

func policyNames(f *File) []string {
	var list []string
	for _, p := range f.Policies {
		list = append(list, p.String())
	}
	return list
}

// YAML and JSON are one: what one makes of a document, the other makes too.
func TestJSON(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/everything.yaml")
	require.NoError(t, err)
	n, err := rule.ParseYAML(data)
	require.NoError(t, err)
	f, err := Parse("everything.json", n.JSON(), nil)
	require.NoError(t, err)
	require.Equal(t, load(t, "everything.yaml"), f)
}

// A document can be written from its struct, in its long form.
func TestDocumentIsWritten(t *testing.T) {
	t.Parallel()
	f := load(t, "everything.yaml")
	f.Document.Rules, f.Document.Instances[1].Rules = nil, nil // they stood in the document itself
	f.Document.Policies = f.Document.Policies[2:]
	f.Document.Clients[1].Load[1].Changes[0].Rate = 2 // a 0 is left out, and may not be
	n, err := rule.Encode(f.Document)
	require.NoError(t, err)
	again, err := Parse("again", n.YAML(), nil)
	require.NoError(t, err)
	require.Equal(t, f.Document, again.Document)
}

const small = "cordon-sim: 1\nlength: 1m\ninstances: [{count: 3}]\nclients: [{load: 10}]\n"

func parse(t *testing.T, more string) *File {
	t.Helper()
	f, err := Parse("doc", []byte(small+more), func(name string) ([]byte, error) { return os.ReadFile(filepath.Join("testdata", name)) })
	require.NoError(t, err)
	return f
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	f := parse(t, "")
	require.Equal(t, "service", f.Scenario.Name)
	require.Equal(t, 1, f.Seeds)
	require.Equal(t, []sim.Policy{sim.Cordon{}}, f.Policies)
	require.Nil(t, f.Scenario.Clients[0].Guard)
	require.NoError(t, f.Scenario.Validate())
}

func TestRulesFromFiles(t *testing.T) {
	t.Parallel()
	f := parse(t, "rules: rules.yaml")
	require.Equal(t, "orders", f.Scenario.Clients[0].Guard.Rules.Flow[0].ID)
	require.Equal(t, "all", f.Policies[0].(sim.Cordon).Rule.ID)

	f = parse(t, "rules: [{file: orders.json, sentinel: flow}, rules.yaml]")
	require.Len(t, f.Scenario.Clients[0].Guard.Rules.Flow, 2)
	require.EqualValues(t, 20, f.Scenario.Clients[0].Guard.Rules.Flow[0].Limit)

	require.Equal(t, parse(t, "rules: rules.yaml").Scenario, parse(t, "rules: {file: rules.yaml}").Scenario)

	_, err := Parse("doc", []byte(small+"rules: rules.yaml"), nil)
	require.ErrorContains(t, err, "doc:5:8: rules[0].file: cannot be read: there are no files here")
	_, err = Load("testdata/none.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Whoever adds a kind of rules says what becomes of it here.
func TestKindsOfRules(t *testing.T) {
	t.Parallel()
	var kinds []string
	for field := range reflect.TypeFor[cordon.Rules]().Fields() {
		kinds = append(kinds, field.Name)
	}
	require.Equal(t, []string{"Flow", "Concurrency", "Breaker", "Isolation", "Param", "System", "Authority", "APIGroup"}, kinds,
		"reader.rules, reader.simulated, clientRules and instanceRules know these")
}

// Rules that are about nothing that is called are probably not what was meant.
func TestRulesThatConcernNobody(t *testing.T) {
	t.Parallel()
	f := parse(t, "rules: {flow: [{id: a, resource: orders, limit: 1}]}")
	require.EqualError(t, f.Warnings, "doc:5:8: warning: rules: none of the rules is about what is called here: service; want rules for these, or loads that name their resource")
	require.Empty(t, parse(t, "rules: {breaker: [{id: a, resource: {default: true}, threshold: 0.5}]}").Warnings)

	f = parse(t, "rules: {param: [{id: a, resource: service, param: uid, limit: 1}]}")
	require.ErrorContains(t, f.Warnings, "doc:5:16: warning: param: are left out, for simulated calls carry no values")
	require.Nil(t, f.Scenario.Clients[0].Guard)

	for rules, want := range map[string]string{
		"system: [{id: a, metric: rate, limit: 1}]":                       "system: are left out, for what is simulated shares the machine of whatever simulates it; want limits by rate or concurrency",
		`apiGroup: [{id: a, name: service, paths: [{pattern: "/a/**"}]}]`: "apiGroup: are left out, for simulated calls have no paths; want limits of what is called here",
	} {
		f = parse(t, "rules: {"+rules+"}")
		require.EqualError(t, f.Warnings, fmt.Sprintf("doc:5:%d: warning: %s", 11+strings.Index(rules, ":"), want))
		require.Nil(t, f.Scenario.Clients[0].Guard)
	}
	f = parse(t, "rules: {authority: [{id: a, resource: service, deny: [x]}]}")
	require.Empty(t, f.Warnings)
	require.Len(t, f.Scenario.Clients[0].Guard.Rules.Authority, 1)
	require.ErrorContains(t, parse(t, "rules: {authority: [{id: a, resource: orders, deny: [x]}]}").Warnings, "none of the rules is about what is called here")
}

func TestCompare(t *testing.T) {
	t.Parallel()
	f := parse(t, "rules: rules.yaml\npolicies: none")
	f.Compare(Cordon)
	f.Compare(None)
	f.Compare(Envoy)
	f.Compare(Envoy)
	require.Equal(t, []string{"none", "cordon", "Envoy"}, policyNames(f))
	require.Equal(t, "all", f.Policies[1].(sim.Cordon).Rule.ID, "what is compared has the rules, too")
}

// The scenarios that users are shown do what they are there for.
func TestExamples(t *testing.T) {
	if raceEnabled {
		t.Skip("one goroutine at a time, and a minute long here")
	}
	for name, holds := range map[string]func(t *testing.T, r *sim.Result){
		"one-sick": func(t *testing.T, r *sim.Result) {
			require.Empty(t, r.False)
			require.Len(t, r.Illnesses, 1)
			for _, found := range r.Illnesses[0].Found {
				require.True(t, found.Found)
				require.Less(t, found.After, 10*time.Second)
			}
			require.Less(t, r.Totals.FailedShare(), .01)
		},
		"flapping": func(t *testing.T, r *sim.Result) {
			require.Empty(t, r.False)
			require.Len(t, r.Illnesses, 15)
			require.Less(t, r.Totals.FailedShare(), .01, "a third of the time a fifth of the calls would fail")
		},
		"shared-dependency-down": func(t *testing.T, r *sim.Result) {
			require.Empty(t, r.False)
			require.Empty(t, r.Illnesses)
			require.Greater(t, r.Totals.FailedShare(), .2)
			for _, in := range r.Instances {
				require.InDelta(t, .2, in.Share, .01)
			}
		},
		"region-lost": func(t *testing.T, r *sim.Result) {
			require.Empty(t, r.False)
			require.Less(t, r.Totals.FailedShare(), .01)
			require.Less(t, r.Totals.NoInstance, int64(1))
			require.Len(t, r.Illnesses, 3)
			for _, il := range r.Illnesses {
				require.Equal(t, sim.Find{}, il.Found[0], "the other region's client does not call it")
				require.True(t, il.Found[1].Found)
				require.Less(t, il.Found[1].After, 5*time.Second)
			}
		},
		"overload": func(t *testing.T, r *sim.Result) {
			require.Empty(t, r.False)
			require.InDelta(t, r.Totals.Blocked, 2*60*1100, 3000, "two minutes of 1100 a second too many")
			require.Less(t, float64(r.Totals.Failed-r.Totals.Blocked)/float64(r.Totals.Calls), .01)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := Load("../../examples/sim/" + name + ".yaml")
			require.NoError(t, err)
			require.Empty(t, f.Warnings)
			r, err := sim.Run(f.Scenario, f.Policies[0])
			require.NoError(t, err)
			holds(t, r)
		})
	}
	all, err := filepath.Glob("../../examples/sim/*.yaml")
	require.NoError(t, err)
	require.Len(t, all, 5+1, "with a file of rules")
}

// An hour at 100 calls per second is a test that can be run all the time.
func TestAnHour(t *testing.T) {
	t.Parallel()
	f, err := Parse("hour", []byte(`{"cordon-sim": 1, "length": "1h", "instances": [{"count": 4}, {"ill": [{"from": "10m", "until": "20m", "failures": 0.5}]}], "clients": [{"load": 100}]}`), nil)
	require.NoError(t, err)
	first, err := sim.Run(f.Scenario, f.Policies[0])
	require.NoError(t, err)
	require.InDelta(t, 360_000, first.Totals.Calls, 3000)
	second, err := sim.Run(f.Scenario, f.Policies[0])
	require.NoError(t, err)
	require.Equal(t, first.Totals, second.Totals)
	require.Equal(t, first.Events, second.Events)
}
