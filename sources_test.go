package cordon

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/rule"
)

// Two sources, and code, with a rule of one id, of every kind: that of code stays before all, then that of the source watched earlier; the conflict is reported on the later one, and
// when the earlier one drops its rule the later's comes into force.
func TestConflictsOfSourcesOfEveryKind(t *testing.T) {
	other := strings.NewReplacer("0.5", "0.6", "0.8", "0.9", ": 5", ": 6", `"probes": 2`, `"probes": 3`, "web", "app", `"/orders"`, `"/carts"`)
	third := strings.NewReplacer("0.5", "0.7", "0.8", "0.7", ": 5", ": 7", `"probes": 2`, `"probes": 4`, "web", "job", `"/orders"`, `"/bills"`)
	for kind, sample := range ruleSamples {
		for _, w := range writings {
			t.Run(kind+" in "+w.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e, err := New()
					require.NoError(t, err)
					defer e.Close()
					rules := func(good string) Rules {
						d, err := Native("", []byte(w.document(kind, "["+good+"]")))
						require.NoError(t, err)
						require.Empty(t, d.Problems)
						fresh, _ := newTest(t, d.Rules)
						return fresh.Rules()
					}
					ofA, ofB, ofCode := rules(sample.good), rules(other.Replace(sample.good)), rules(third.Replace(sample.good))
					require.NotEqual(t, ofA, ofB)
					require.NotEqual(t, ofA, ofCode)
					a, b := newFake("a"), newFake("b")
					watch := func(src *fakeSource, good string) *Watch {
						src.send(w.document(kind, "["+good+"]"))
						watch, err := e.Watch(bg, src, Native)
						require.NoError(t, err)
						return watch
					}
					settle := func() { time.Sleep(time.Second); synctest.Wait() }
					wa, wb := watch(a, sample.good), watch(b, other.Replace(sample.good))
					conflict := func(rep rule.Report, loser string) {
						t.Helper()
						require.True(t, rep.OK(), "a conflict is no fault")
						warnings := rep.Problems.Warnings()
						require.Len(t, warnings, 1)
						require.Equal(t, []any{loser, kind, "good", "id", 0}, []any{warnings[0].Source, warnings[0].Kind, warnings[0].RuleID, warnings[0].Field, warnings[0].Index})
						require.Contains(t, warnings[0].Message, "another source watched earlier")
					}
					require.Empty(t, wa.Report().Problems)
					conflict(wb.Report(), "b")
					require.Equal(t, ofA, e.Rules())

					a.send(w.document(kind, "[]"))
					settle()
					require.Equal(t, ofB, e.Rules(), "the earlier one has dropped its rule")
					a.send(w.document(kind, "["+sample.good+"]"))
					settle()
					require.Equal(t, ofA, e.Rules(), "it has it again")
					conflict(wa.Report(), "b")

					require.NoError(t, wa.Close())
					settle()
					require.Equal(t, ofA, e.Rules(), "the end of a watch clears nothing")
					a.send(w.document(kind, "["+third.Replace(sample.good)+"]"))
					_, err = e.Watch(bg, a, Native)
					require.NoError(t, err)
					require.Equal(t, ofCode, e.Rules(), "a source watched again has its place")

					rep := apply(t, e, ofB)
					require.Len(t, rep.Problems.Warnings(), 2)
					require.Equal(t, ofB, e.Rules(), "code comes before all sources")
					apply(t, e, Rules{})
					require.Equal(t, ofCode, e.Rules())
				})
			})
		}
	}
}

// Law 3: of all that a source can say only a good document changes rules. faults #66: deleted, emptied, gone, away, back.
func TestNothingButADocumentClearsRulesOfEveryKind(t *testing.T) {
	eachDocument(t, func(b *badInput) {
		say := func(u datasource.Update) {
			b.t.Helper()
			b.src.updates <- u
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(b.t, b.before, b.e.Rules())
			require.Error(b.t, b.watch.Health().LastError)
		}
		say(datasource.Update{Err: datasource.ErrAbsent})
		say(datasource.Update{Err: errBoom})
		say(datasource.Update{Err: datasource.ErrAbsent, Document: datasource.Document{Data: []byte(b.document("[]"))}})
		say(datasource.Update{})
		say(datasource.Update{Document: datasource.Document{Data: []byte{}}})
		say(datasource.Update{Document: datasource.Document{Data: []byte(" \n")}})
		say(datasource.Update{Document: datasource.Document{Data: []byte("\uFEFF")}})
		say(datasource.Update{Document: datasource.Document{Data: []byte("null")}})
		b.src.send(b.document("[" + b.sample.good + "]"))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoError(b.t, b.watch.Health().LastError)
		require.NoError(b.t, b.watch.Close())
		require.Equal(b.t, b.before, b.e.Rules(), "the end of a watch clears nothing")

		w, err := b.e.Watch(bg, b.src, Native, FirstWithin(time.Second))
		require.ErrorContains(b.t, err, "no document within 1s")
		require.Equal(b.t, b.before, b.e.Rules(), "nor does a new one")
		b.src.send(b.document("[]"))
		time.Sleep(time.Minute)
		synctest.Wait()
		rules := b.e.Rules()
		require.Zero(b.t, rules.count())
		require.Len(b.t, w.Report().Removed, 1)
	})
}

// Where nobody can tell which rule a bad one was meant to be, each of which nothing else is said may be it: their last good versions stay.
func TestBadRulesWithoutAName(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct {
		good string
		bad  []string
	}{
		"flow":        {"{resource: a, limit: 5}", []string{"{resource: 5, limit: 5}", "{limit: 5}", "{resourse: a, limit: 5}", "{resource: {regex: (}, limit: 5}", "5"}},
		"concurrency": {"{resource: a, limit: 5}", []string{"{resource: 5, limit: 5}"}},
		"breaker":     {"{resource: a, threshold: 0.5}", []string{"{threshold: 0.5}"}},
		"isolation":   {"{service: a}", []string{"{service: []}"}},
		"param":       {"{resource: a, param: 'arg[0]', limit: 5}", []string{"{resource: null, param: 'arg[0]', limit: 5}"}},
		"system":      {"{metric: cpu, limit: 0.5}", []string{"{metric: cpux, limit: 0.5}", "{limit: 0.5}", "{metric: 5, limit: 0.5}", "cpu"}},
		"authority":   {"{resource: a, allow: [x]}", []string{"{allow: [x]}", "{resource: [a], allow: [x]}"}},
		"apiGroup":    {"{name: a, paths: [{exact: /a}]}", []string{"{paths: [{exact: /a}]}", "{name: 1, paths: [{exact: /a}]}"}},
	} {
		for _, bad := range c.bad {
			e, _ := newTest(t, Rules{})
			o := &owner{source: "s"}
			e.owners = append(e.owners, o)
			for i, text := range []string{c.good, bad} {
				d, err := Native("s", []byte("cordon: 1\n"+kind+":\n  - "+text+"\n"))
				require.NoError(t, err)
				rep := e.apply(o, d, true, rule.Report{Source: "s"})
				require.True(t, rep.Applied)
				require.Equal(t, i > 0, len(rep.Problems.Faults()) > 0, "%s: %v", text, rep.Problems)
				require.Len(t, rep.Kept, i, "%s %s: %v", kind, text, rep.Problems)
			}
			require.Equal(t, 1, e.Snapshot().Rules[kind], "%s: %s", kind, bad)
		}
	}
	// A bad rule whose name is known stands for nothing else.
	e, _ := newTest(t, Rules{})
	o := &owner{source: "s"}
	e.owners = append(e.owners, o)
	for _, text := range []string{"[{resource: a, limit: 5}, {resource: b, limit: 5}]", "[{resource: a, limit: -5}]"} {
		d, err := Native("s", []byte("cordon: 1\nflow: "+text+"\n"))
		require.NoError(t, err)
		e.apply(o, d, true, rule.Report{Source: "s"})
	}
	require.Len(t, e.Rules().Flow, 1)
	require.Equal(t, "a#1", e.Rules().Flow[0].ID)
}
