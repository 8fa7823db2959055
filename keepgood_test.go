package cordon

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/rule"
)

// A bad rule that has no last good version of its own leaves its resource with what it had: nobody can tell that it is another rule.
func TestKeepGoodKeepsWhatTheResourceHad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, after string
		kept                []string
	}{
		{"an id that is gone", "flow: [{id: '1', resource: a, limit: 4}, {id: '2', resource: b, limit: 4}]", "flow: [{resource: a, limit: 4/s}, {id: '2', resource: b, limit: 5}]", []string{"flow 1"}},
		{"an id that is another", "flow: [{id: x, resource: a, limit: 4}]", "flow: [{id: y, resource: a, limit: -4}]", []string{"flow x"}},
		{"an id that came", "flow: [{resource: a, limit: 4}]", "flow: [{id: y, resource: a, limit: -4}]", []string{"flow a#1"}},
		{"all of the resource", "flow: [{id: x, resource: a, limit: 4}, {resource: a, limit: 9}, {resource: {wildcard: a}, limit: 9}]", "flow: [{id: y, resource: a, limit: -4}]", []string{"flow x", "flow a#1"}},
		{"not what is offered", "flow: [{id: x, resource: a, limit: 4}, {id: z, resource: a, limit: 9}]", "flow: [{id: y, resource: a, limit: -4}, {id: z, resource: a, limit: 8}]", []string{"flow x"}},
		{"of a pattern", "flow: [{id: x, resource: {wildcard: 'a*'}, limit: 4}, {id: z, resource: 'a*', limit: 4}]", "flow: [{id: y, resource: {wildcard: 'a*'}, limit: -4}]", []string{"flow x"}},
		{"a resource that cannot be told", "flow: [{id: x, resource: a, limit: 4}, {id: z, resource: b, limit: 4}]", "flow: [{id: y, resource: 7, limit: 4}]", []string{"flow x", "flow z"}},
		{"a pattern that is none", "flow: [{id: x, resource: {regex: a.}, limit: 4}]", "flow: [{id: y, resource: {regex: (a.}, limit: 4}]", []string{"flow x"}},
		{"an id that is told", "flow: [{id: x, resource: a, limit: 4}, {id: z, resource: a, limit: 4}]", "flow: [{id: x, resource: a, limit: -4}]", []string{"flow x"}},
		{"an id given twice", "flow: [{id: x, resource: a, limit: 4}, {id: z, resource: b, limit: 4}]", "flow: [{id: x, resource: a, limit: 4}, {id: x, resource: b, limit: 4}]", []string{"flow z"}},
		{"a derived id, which may be the other's", "flow: [{resource: a, limit: 4}, {resource: a, limit: 9}]", "flow: [{resource: a, limit: -4}]", []string{"flow a#1", "flow a#2"}},
		{"a limit of another kind", "flow: [{id: x, resource: a, limit: 4}]\nbreaker: [{id: b, resource: a, threshold: 0.5}]", "concurrency: [{resource: a, limit: -1}]", []string{"flow x"}},
		{"another resource", "flow: [{id: x, resource: a, limit: 4}]", "flow: [{id: y, resource: b, limit: -1}]", nil},
		{"breaker", "breaker: [{id: x, resource: a, threshold: 0.5}]", "breaker: [{resource: a, threshold: 7}]", []string{"breaker x"}},
		{"isolation", "isolation: [{id: x, service: a}]", "isolation: [{service: a, maxShare: 7}]", []string{"isolation x"}},
		{"param", "param: [{id: x, resource: a, limit: 1, param: header.t}]", "param: [{resource: a, limit: -1, param: header.t}]", []string{"param x"}},
		{"system", "system: [{id: x, metric: cpu, limit: 0.5}, {id: y, metric: rate, limit: 5}]", "system: [{metric: cpu, limit: 50}]", []string{"system x"}},
		{"a metric that cannot be told", "system: [{id: x, metric: cpu, limit: 0.5}]", "system: [{id: z, metric: cqu, limit: 0.5}]", []string{"system x"}},
		{"authority", "authority: [{id: x, resource: a, allow: [w]}]", "authority: [{resource: a, allow: [w], deny: [w]}]", []string{"authority x"}},
		{"apiGroup", "apiGroup: [{id: x, name: a, paths: [{exact: /a}]}]", "apiGroup: [{name: a, paths: [{regex: '('}]}]", []string{"apiGroup x"}},
	} {
		e, _ := newTest(t, Rules{})
		o := &owner{source: "s"}
		e.owners = append(e.owners, o)
		offer := func(text string) rule.Report {
			d, err := Native("s", []byte("cordon: 1\n"+text+"\n"))
			require.NoError(t, err, c.name)
			return e.apply(o, d, true, rule.Report{Source: "s"})
		}
		rep := offer(c.before)
		require.True(t, rep.OK(), "%s: %v", c.name, rep.Problems)
		for range 2 { // it stays as long as the fault is there
			rep = offer(c.after)
			require.True(t, rep.Applied, c.name)
			require.NotEmpty(t, rep.Problems.Faults(), c.name)
			var kept []string
			for _, k := range rep.Kept {
				kept = append(kept, k.Kind+" "+k.ID)
			}
			require.Equal(t, c.kept, kept, c.name)
		}
		offer("")
		rules := e.Rules()
		require.Zero(t, rules.count(), "%s: and no longer", c.name)
	}
}

// restart is a process: an engine with one source and its last-good file, as a program would have it until body returns.
func restart(t require.TestingT, path string, dec Decoder, opts []WatchOption, body func(e *Engine, w *Watch, src *fakeSource)) {
	e, err := New()
	require.NoError(t, err)
	defer e.Close()
	src := newFake("s")
	w, err := e.Watch(context.Background(), src, dec, append(opts, LastGood(path), FirstWithin(0))...)
	require.NoError(t, err)
	synctest.Wait()
	body(e, w, src)
}

// sayTo has a source say something, and waits until that was judged.
func sayTo(src *fakeSource, data string) {
	src.send(data)
	time.Sleep(time.Second)
	synctest.Wait()
}

// A document of which a part was refused does not say what is in force. A restart brings back what was, the last good versions of what was refused included; and the same document, when the source has it again, changes nothing.
func TestRestartAfterADocumentThatWasBadInPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last")
	keepGood := []WatchOption{OnBadRule(KeepGood)}
	synctest.Test(t, func(t *testing.T) {
		const good = "cordon: 1\nflow: [{id: a, resource: a, limit: 4, per: 1h}, {resource: z, limit: 4}]\nbreaker: [{resource: a, threshold: 0.5}]\n"
		const part = "cordon: 1\nflow: [{id: a, resource: a, limti: 4, per: 1h}, {resource: z, limit: 5}]\nbreaker: [{resource: a, threshold: 0.5}]\n"
		var before Rules
		restart(t, path, Native, keepGood, func(e *Engine, w *Watch, src *fakeSource) {
			sayTo(src, good)
			require.Zero(t, e.Snapshot().Sources[0].Refused)
			sayTo(src, part)
			before = e.Rules()
			require.Equal(t, 4, passes(e, "a", 9))
			s := e.Snapshot().Sources[0]
			require.Equal(t, []int{3, 1, 1}, []int{s.Rules, s.Refused, s.Kept})
			require.Len(t, s.Problems, 1)
			require.Contains(t, s.Problems[0], "s:2:29: flow[0] (a): unknown field \"limti\"")
			require.Empty(t, s.LastError, "the rest is in force")
			sayTo(src, "cordon: 1\nflow: [")
			require.Equal(t, 1, e.Snapshot().Sources[0].Refused, "it is about the document in force")
		})
		for range 3 {
			restart(t, path, Native, keepGood, func(e *Engine, w *Watch, src *fakeSource) {
				require.Equal(t, before, e.Rules())
				require.True(t, w.Health().Stale)
				require.Equal(t, "vcor", w.Health().Version)
				require.Equal(t, 4, passes(e, "a", 9))
				sayTo(src, part)
				require.False(t, w.Health().Stale)
				require.Equal(t, before, e.Rules())
				require.Zero(t, passes(e, "a", 9), "and it is the same rule, with its count")
				require.Equal(t, 1, e.Snapshot().Sources[0].Kept)
			})
		}
		restart(t, path, Native, nil, func(e *Engine, w *Watch, src *fakeSource) {
			require.Equal(t, before, e.Rules(), "also for a program that refuses such documents whole")
			sayTo(src, part)
			require.Equal(t, before, e.Rules())
			require.True(t, w.Health().Stale)
			sayTo(src, good)
			require.Empty(t, e.Snapshot().Sources[0].Problems)
		})
		restart(t, path, Native, nil, func(e *Engine, w *Watch, _ *fakeSource) {
			require.Equal(t, 4.0, e.Rules().Flow[1].Limit, "a good document is kept as it is")
		})
	})
}

// Whatever documents come one after the other, bad in part, bad as a whole or good: a restart at any moment brings back what was in force, whether or not the source is there, and then goes on as if there had been none.
func TestRestartsChangeNothing(t *testing.T) {
	dir := t.TempDir()
	runs := 0
	kinds := slices.Sorted(func(yield func(string) bool) {
		for kind := range ruleSamples {
			if !yield(kind) {
				return
			}
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			runs++
			path := filepath.Join(dir, fmt.Sprint(runs))
			// document makes one of some rules of some kinds, with or without ids of their own, some in shadow, some bad.
			document := func() string {
				if rapid.IntRange(0, 9).Draw(rt, "whole") == 0 {
					return rapid.SampledFrom([]string{"", "cordon: 1\nflow: [", "cordon: 2\n"}).Draw(rt, "broken")
				}
				sections := map[string]json.RawMessage{"cordon": json.RawMessage("1")}
				for range rapid.IntRange(0, 3).Draw(rt, "kinds") {
					kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
					var rules []string
					for range rapid.IntRange(0, 3).Draw(rt, "rules") {
						sample := ruleSamples[kind].good
						if rapid.IntRange(0, 2).Draw(rt, "bad") == 0 {
							sample = ruleSamples[kind].bad
						}
						var r map[string]any
						if err := json.Unmarshal([]byte(sample), &r); err != nil {
							panic(err)
						}
						delete(r, "id")
						if id := rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "id"); id != "" {
							r["id"] = id
						}
						for _, key := range []string{"resource", "service", "name"} {
							if _, ok := r[key]; ok {
								r[key] = rapid.SampledFrom([]any{"a", "b", 7}).Draw(rt, key)
							}
						}
						if kind != "apiGroup" && rapid.Bool().Draw(rt, "shadow") {
							r["shadow"] = true
						}
						text, err := json.Marshal(r)
						if err != nil {
							panic(err)
						}
						rules = append(rules, string(text))
					}
					sections[kind] = json.RawMessage("[" + strings.Join(rules, ",") + "]")
				}
				text, err := json.Marshal(sections)
				if err != nil {
					panic(err)
				}
				return string(text)
			}
			keepGood := []WatchOption{OnBadRule(KeepGood)}
			documents := rapid.SliceOfN(rapid.Custom(func(*rapid.T) string { return document() }), 1, 6).Draw(rt, "documents")
			var without []Rules // what is in force after each, without a restart
			restart(t, filepath.Join(dir, "other"+fmt.Sprint(runs)), Native, keepGood, func(e *Engine, _ *Watch, src *fakeSource) {
				for _, d := range documents {
					sayTo(src, d)
					without = append(without, e.Rules())
				}
			})
			was := Rules{}
			for i, d := range documents {
				restart(t, path, Native, keepGood, func(e *Engine, w *Watch, src *fakeSource) {
					require.NoError(t, w.Health().LastGoodError)
					require.Equal(t, was, e.Rules(), "before document %d of\n%s", i, strings.Join(documents, "\n"))
					if i > 0 && rapid.Bool().Draw(rt, "the same again") {
						sayTo(src, documents[i-1])
						require.Equal(t, was, e.Rules(), "with document %d again of\n%s", i-1, strings.Join(documents, "\n"))
					}
					sayTo(src, d)
					was = e.Rules()
					require.Equal(t, without[i], was, "with document %d of\n%s", i, strings.Join(documents, "\n"))
				})
			}
		})
	})
}

// faults of sources that no waiting mends.
func TestWatchSaysAtOnceWhatNoWaitingMends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		began := time.Now()
		for range 3 { // and the watch has ended, so that the next is none beside it
			w, err := e.Watch(bg, brokenSource{}, Native)
			require.ErrorIs(t, err, errBoom)
			require.ErrorContains(t, err, "no rules of broken are in force yet")
			require.False(t, w.Health().Running)
		}
		require.Zero(t, time.Since(began))
	})
}

type brokenSource struct{}

func (brokenSource) Name() string { return "broken" }

func (brokenSource) Watch(context.Context, func(datasource.Update)) error {
	return datasource.Permanent(errBoom)
}

// What writes documents is told of every fault, in an error that is nil when there is none.
func TestValidate(t *testing.T) {
	t.Parallel()
	check := Validate("doc", Native)
	require.NoError(t, check([]byte(oneRule)))
	require.NoError(t, check([]byte(oneRule+"param: [{resource: r, limit: 1, param: mine}]\n")), "an engine may have that extractor")
	for text, want := range map[string]string{
		"":                     "doc:1:1: the document is empty",
		"cordon: 1\nflow: 3\n": "doc:2:7: flow: 3 is a number",
		strings.Replace(oneRule, "limit: 2", "limit: -2", 1): "doc:3:33: flow[0] (f): limit: -2",
	} {
		require.ErrorContains(t, check([]byte(text)), want)
	}
	loose := func(string, []byte) (Decoded, error) {
		return Decoded{Rules: flowRules(limit("f", "r", -1)), Partial: true}, nil
	}
	require.ErrorContains(t, Validate("own", loose)(nil), "flow[0] (f): limit: ", "what the decoder lets pass")
	warns := func(string, []byte) (Decoded, error) {
		return Decoded{Problems: rule.Problems{{Message: "odd", Warning: true}}}, nil
	}
	require.NoError(t, Validate("own", warns)(nil))
}

// What a snapshot says of refused rules is bounded.
func TestSnapshotBoundsProblems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		src := newFake("s")
		src.send("cordon: 1\nflow: [" + strings.Repeat("{id: "+strings.Repeat("é", 500)+", resource: r, limit: -1},", 50) + "]\n")
		_, err = e.Watch(bg, src, Native, OnBadRule(KeepGood))
		require.NoError(t, err)
		s := e.Snapshot().Sources[0]
		require.Equal(t, 50, s.Refused)
		require.Len(t, s.Problems, mostProblems)
		for _, p := range s.Problems {
			require.LessOrEqual(t, len(p), longestProblem+len("…"))
		}
	})
}
