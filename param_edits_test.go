package cordon

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// faults #27: however often a rule is edited, what a hot value has spent stays spent.
func TestParamEditsForgetNothing(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(r *paramflow.Rule, i int){
		"limit":  func(r *paramflow.Rule, i int) { r.Limit = 1 + float64(i%3)/10; r.Burst = 1 },
		"values": func(r *paramflow.Rule, i int) { r.Values = 1000 + 100*i },
		"overrides": func(r *paramflow.Rule, i int) {
			r.Overrides = []paramflow.Override{{Value: "hot", Limit: 1 + float64(i%2)/10, Burst: 1}}
		},
		"patterns": func(r *paramflow.Rule, i int) {
			r.Overrides = []paramflow.Override{{Wildcard: "h*", Limit: 1 + float64(i%2)/10, Burst: 1}}
		},
		"redact":            func(r *paramflow.Rule, i int) { r.Redact = i%2 == 0 },
		"absent":            func(r *paramflow.Rule, i int) { r.Absent = paramflow.Absent(i % 2) },
		"shadow of another": func(*paramflow.Rule, int) {},
		"pattern of resources": func(r *paramflow.Rule, i int) {
			r.Resource = []rule.Match{rule.Name("r"), rule.Wildcard("r*"), rule.Default()}[i%3]
		},
	} {
		e, _ := newTest(t, paramRules(paramflow.Rule{ID: "p", Resource: rule.Name("r"), Param: "arg[0]", Limit: 1, Per: time.Hour}))
		passed := passesWith(e, "r", 3, "hot")
		for i := range 20 {
			r := paramflow.Rule{ID: "p", Resource: rule.Name("r"), Param: "arg[0]", Limit: 1, Per: time.Hour}
			edit(&r, i)
			apply(t, e, paramRules(r, paramflow.Rule{ID: "other", Resource: rule.Name("q"), Param: "arg[0]", Limit: float64(i)}))
			passed += passesWith(e, "r", 3, "hot")
		}
		require.Equal(t, 1, passed, name)
	}
}

func TestParamEditsOfWhatIsInFlight(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, paramRules(valuesInFlight("p", "r", 2)))
	first, err := enterWith(e, "r", "a")
	require.NoError(t, err)
	apply(t, e, paramRules(valuesInFlight("p", "r", 3)))
	require.Equal(t, 2, holdsWith(e, "r", "a"))
	apply(t, e, paramRules(valuesInFlight("p", "r", 1)))
	require.Zero(t, holdsWith(e, "r", "a"))
	first.End(Success)
	require.Equal(t, 1, holdsWith(e, "r", "a"))

	// A call that entered by a rule which counts something else by now ends all the same.
	old, err := enterWith(e, "r", "a")
	require.NoError(t, err)
	apply(t, e, paramRules(perValue("p", "r", 5)))
	require.Equal(t, 5, passesWith(e, "r", 9, "a"))
	apply(t, e, paramRules(valuesInFlight("p", "r", 1)))
	held, err := enterWith(e, "r", "a")
	require.NoError(t, err)
	old.End(Success)
	require.Zero(t, holdsWith(e, "r", "a"), "the old call's place is not that of the new one")
	held.End(Success)
	require.Equal(t, 1, holdsWith(e, "r", "a"))
	require.Zero(t, snap(t, e, "r").Rules[0].Usage)
}

// An edit that counts something else begins anew, and says so.
func TestParamEditsThatBeginAnew(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e, _ := newTest(t, paramRules(perValue("p", "r", 1)), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	require.Equal(t, 1, passesWith(e, "r", 3, "a"))
	r := perValue("p", "r", 1)
	r.Param = "arg[-1]"
	apply(t, e, paramRules(r))
	require.Equal(t, 1, passesWith(e, "r", 3, "a"))
	require.Equal(t, 1, strings.Count(log.String(), "starts its counts afresh"))
	// A rule that is away for a moment in which nobody calls goes on, as other kinds do.
	apply(t, e, Rules{})
	apply(t, e, paramRules(r))
	require.Zero(t, passesWith(e, "r", 3, "a"))
	require.EqualValues(t, 2+2+3, snap(t, e, "r").Blocked["param"])
}

// Laws 1 and 2 together: no edit in the middle of calls yields a call more, or leaves a place taken.
func TestParamEditsUnderRace(t *testing.T) {
	t.Parallel()
	const workers, edits, limit = 8, 60, 7
	rules := func(i int) Rules {
		rate := paramflow.Rule{ID: "rate", Resource: rule.Name("r"), Param: "arg[0]", Limit: limit, Per: time.Hour, Values: 100 + 900*(i%2)}
		if i%3 > 0 {
			rate.Overrides = []paramflow.Override{{Wildcard: "hot*", Limit: limit}, {Value: "hot1", Limit: limit}}[:i%3]
		}
		places := valuesInFlight("places", "r", float64(2+i%2))
		turning := valuesInFlight("turning", "r", 1)
		if i%2 == 1 {
			turning = perValue("turning", "r", 1e6)
		}
		return Rules{Param: []paramflow.Rule{rate, places, turning}[:3-i%5/4]}
	}
	e, _ := newTest(t, rules(0))
	var passed [3]atomic.Int64
	var wg sync.WaitGroup
	var stop atomic.Bool
	for w := range workers {
		wg.Go(func() {
			for i := w; !stop.Load(); i++ {
				if with(e, "r", "hot"+strconv.Itoa(i%len(passed))) == nil {
					passed[i%len(passed)].Add(1)
				}
				with(e, "r", w<<20|i%500)
			}
		})
	}
	for i := range edits {
		apply(t, e, rules(i))
		call(e, "r", nil)
		yield()
	}
	stop.Store(true)
	wg.Wait()
	for i := range passed {
		require.LessOrEqual(t, passed[i].Load(), int64(limit))
		require.Positive(t, passed[i].Load())
	}
	apply(t, e, Rules{Param: rules(2).Param[1:]})
	for _, r := range snap(t, e, "r").Rules {
		require.Zero(t, r.Usage, r.ID)
	}
	require.Equal(t, 1, holdsWith(e, "r", "new"), "no place is left taken")
}

// A rule that stops sharing its budget counts for each resource apart from then on.
func TestParamEditsOfSharing(t *testing.T) {
	t.Parallel()
	r := paramflow.Rule{ID: "p", Resource: rule.Wildcard("r*"), Param: "arg[0]", Limit: 1, Shared: true}
	e, _ := newTest(t, paramRules(r))
	require.NoError(t, call(e, "r1", nil))
	require.Equal(t, 1, passesWith(e, "r1", 2, "a")+passesWith(e, "r2", 2, "a"))
	require.EqualValues(t, 1, snap(t, e, "r2").Rules[0].Param.Absent)
	r.Shared, r.Values = false, 100
	apply(t, e, paramRules(r))
	require.NoError(t, call(e, "r1", nil))
	require.Equal(t, 2, passesWith(e, "r1", 2, "a")+passesWith(e, "r2", 2, "a"))
	require.EqualValues(t, 1, snap(t, e, "r1").Rules[0].Param.Absent)
	require.Zero(t, snap(t, e, "r2").Rules[0].Param.Absent)
	r.Shared = true
	apply(t, e, paramRules(r))
	require.Equal(t, 1, passesWith(e, "r1", 2, "a")+passesWith(e, "r2", 2, "a"))
}

// A rule that may match any number of resources says how much memory it takes for each.
func TestParamMemoryIsWarnedOf(t *testing.T) {
	t.Parallel()
	d, err := Native("doc", []byte("cordon: 1\nparam: [{id: a, resource: {default: true}, param: client.ip, limit: 1}]"))
	require.NoError(t, err)
	require.EqualError(t, d.Problems, "doc:2:9: warning: param[0] (a): values: is not set: each resource that the rule matches takes about 600 KiB; "+
		"want how many different values are in use at one time, or shared: true for one budget of all")
	e, _ := newTest(t, Rules{})
	rep := apply(t, e, d.Rules)
	require.Len(t, rep.Problems.Warnings(), 1)
	d.Rules.Param[0].Values = 1000
	require.Empty(t, apply(t, e, d.Rules).Problems)
	src := newFake("file")
	src.send("cordon: 1\nparam: [{id: b, resource: {default: true}, param: client.ip, limit: 1}]")
	w, err := e.Watch(bg, src, Native)
	require.NoError(t, err)
	defer w.Close()
	require.Len(t, w.Report().Problems, 1, "said once, with its place")
	require.Equal(t, 2, w.Report().Problems[0].Position.Line)
}

// What the caller does with its slices does not reach rules in force, nor what Rules returns.
func TestParamRulesAreCopies(t *testing.T) {
	t.Parallel()
	r := perValue("p", "r", 1)
	r.Overrides = []paramflow.Override{{Value: "a", Limit: 2}}
	rules := paramRules(r)
	e, _ := newTest(t, rules)
	rules.Param[0].Overrides[0].Limit = 5
	e.Rules().Param[0].Overrides[0].Limit = 5
	require.EqualValues(t, 2, e.Rules().Param[0].Overrides[0].Limit)
	rep := apply(t, e, rules)
	require.Len(t, rep.Changed, 1)
	require.Equal(t, "p", rep.Changed[0].ID)
	require.Equal(t, 5, passesWith(e, "r", 9, "a"))
	require.Equal(t, 1, apply(t, e, rules).Unchanged)
}

func TestParamReports(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, paramRules(perValue("p", "r", 1), perValue("q", "r", 1)), WithExtractor("uid", extractor.Func(func(*extractor.Call) (extractor.Value, bool) { return extractor.Value{}, false })))
	rep := apply(t, e, paramRules(perValue("p", "r", 2), perValue("", "r", 3)))
	require.Equal(t, []rule.Change{{Kind: "param", ID: "r#1"}}, rep.Added)
	require.Equal(t, "p", rep.Changed[0].ID)
	require.Equal(t, []rule.Change{{Kind: "param", ID: "q"}}, rep.Removed)
	bad := perValue("bad", "r", 1)
	for path, want := range map[string]string{
		"":               "param[0] (bad): param: is missing: a rule must say which value it limits",
		"arg":            `param[0] (bad): param: the path "arg", byte 3: arg alone is no value; want the argument's number, as arg[0]`,
		"uidd":           `the path "uidd", byte 0: there is no value called "uidd"; want uid (did you mean that?)`,
		"uid + tenant":   `byte 6: there is no value called "tenant"`,
		"header.X-A + 7": `byte 13: "7" cannot begin a path`,
	} {
		bad.Param = path
		rep, err := e.Apply(paramRules(bad))
		require.ErrorContains(t, err, want)
		require.False(t, rep.Applied)
	}
	require.Len(t, e.Rules().Param, 2, "they stay in force")
	bad.Param, bad.Limit, bad.Resource = "arg[", -1, rule.Match{}
	_, err := e.Apply(paramRules(bad))
	for _, want := range []string{"param: the path", "limit: ", "resource: is missing"} {
		require.ErrorContains(t, err, want)
	}
}

// A resource is not dropped while it counts for a value, and is afterwards.
func TestParamKeepsResources(t *testing.T) {
	t.Parallel()
	r := paramflow.Rule{ID: "p", Resource: rule.Wildcard("r*"), Param: "arg[0]", Limit: 1, Per: 2 * time.Hour, Values: 100}
	places := paramflow.Rule{ID: "c", Resource: rule.Wildcard("c*"), Param: "arg[0]", Limit: 1, Mode: paramflow.Concurrency}
	e, clk := newTest(t, paramRules(r, places), WithMaxResources(3), WithIdleTimeout(time.Second))
	require.NoError(t, with(e, "r1", "a"))
	require.NoError(t, with(e, "idle", "a"))
	held, err := enterWith(e, "c1", "a")
	require.NoError(t, err)
	churn := func() {
		for range 10 {
			clk.Advance(10 * time.Second)
			call(e, "new"+strconv.Itoa(int(clk.Now())), nil)
		}
	}
	churn()
	require.Error(t, with(e, "r1", "a"))
	require.Error(t, with(e, "c1", "a"))
	_, ok := e.ResourceSnapshot("idle")
	require.False(t, ok)
	held.End(Success)
	clk.Advance(3 * time.Hour)
	churn()
	require.NoError(t, with(e, "c1", "a"))
	require.NoError(t, with(e, "r1", "a"))
}

// Beyond the bound on resources names are counted together by their rules, those on values too.
func TestParamBeyondTheBound(t *testing.T) {
	t.Parallel()
	r := paramflow.Rule{ID: "p", Resource: rule.Wildcard("r*"), Param: "arg[0]", Limit: 1, Per: time.Hour}
	e, _ := newTest(t, paramRules(r), WithMaxResources(2))
	call(e, "a", nil)
	call(e, "b", nil)
	passed := 0
	for _, name := range []string{"r1", "r2", "r3", "r1"} {
		passed += passesWith(e, name, 2, "hot")
	}
	require.Equal(t, 1, passed)
	s := snap(t, e, "(others of param p)")
	require.EqualValues(t, 7, s.Blocked["param"])
}
