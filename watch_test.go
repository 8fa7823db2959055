package cordon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// fakeSource is a source that delivers what the test sends.
type fakeSource struct {
	name    string
	updates chan datasource.Update
}

func newFake(name string) *fakeSource {
	return &fakeSource{name: name, updates: make(chan datasource.Update, 16)}
}

func (s *fakeSource) Name() string { return s.name }

func (s *fakeSource) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case u := <-s.updates:
			deliver(u)
		}
	}
}

func (s *fakeSource) send(data string) {
	s.updates <- datasource.Update{Document: datasource.Document{Data: []byte(data), Version: "v" + data[:min(3, len(data))]}}
}

const oneRule = "cordon: 1\nflow:\n  - {id: f, resource: r, limit: 2}\n"

func TestWatchPutsRulesInForce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		e, err := New(WithObserver(rec.observer()))
		require.NoError(t, err)
		defer e.Close()
		src := newFake("fake")
		src.send(oneRule)
		w, err := e.Watch(bg, src, Native)
		require.NoError(t, err)
		require.Equal(t, 2, passes(e, "r", 5))
		require.Equal(t, "fake", w.Report().Source)
		require.Len(t, w.Report().Added, 1)

		settle := func() { time.Sleep(time.Second); synctest.Wait() }
		// Law 3: empty, truncated, misspelt, of another version: nothing clears the rules. faults #63, #64
		for _, bad := range []string{
			"", " \n", "cordon: 1\nflow: [", "cordon: 2\n", "flow: []", "[]", "null",
			strings.Replace(oneRule, "limit", "limt", 1), strings.Replace(oneRule, "limit: 2", "limit: -2", 1),
			oneRule + "flwo: []\n",
		} {
			src.send(bad)
			settle()
			require.Len(t, e.Rules().Flow, 1, "%q", bad)
			require.Error(t, w.Health().LastError, "%q", bad)
			require.False(t, w.Report().Applied)
			require.NotEmpty(t, w.Report().Problems)
			require.Equal(t, "fake", w.Report().Problems[0].Source)
		}
		src.updates <- datasource.Update{Err: datasource.ErrAbsent}
		settle()
		require.Len(t, e.Rules().Flow, 1)
		s := e.Snapshot()
		require.Len(t, s.Sources, 1)
		require.Equal(t, 1, s.Sources[0].Rules)
		require.NotEmpty(t, s.Sources[0].LastError)

		reports := len(rec.reports)
		src.send(oneRule) // identical to what is in force
		settle()
		require.Len(t, rec.reports, reports)
		require.NoError(t, w.Health().LastError)

		src.send("cordon: 1\n") // the explicit empty document
		settle()
		require.Empty(t, e.Rules().Flow)
		require.Len(t, w.Report().Removed, 1)
		require.NoError(t, w.Close())
		require.NoError(t, w.Close())
	})
}

func TestWatchWaitsForTheFirstDocument(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		silent := newFake("silent")
		start := time.Now()
		w, err := e.Watch(bg, silent, Native, FirstWithin(3*time.Second))
		require.ErrorContains(t, err, "no rules of silent are in force yet")
		require.ErrorContains(t, err, "3s")
		require.Equal(t, 3*time.Second, time.Since(start))
		silent.send(oneRule)
		time.Sleep(time.Second)
		require.Equal(t, 2, passes(e, "r", 5), "it is watched all the same")
		require.NotNil(t, w)

		absent := newFake("absent")
		absent.updates <- datasource.Update{Err: datasource.ErrAbsent}
		_, err = e.Watch(bg, absent, Native)
		require.ErrorIs(t, err, datasource.ErrAbsent)

		broken := newFake("broken")
		broken.send("cordon: 1\nflow: 7\n")
		_, err = e.Watch(bg, broken, Native)
		require.ErrorContains(t, err, "broken:2:7")

		later := newFake("later")
		_, err = e.Watch(bg, later, Native, FirstWithin(0), Debounce(-1))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_, err = e.Watch(ctx, newFake("gone"), Native)
		require.Error(t, err)
	})
}

// Several sources that do not answer cost the time of one.
func TestFirstWaitsForSeveralTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		var watches []*Watch
		silent, speaking := newFake("silent"), newFake("speaking")
		for _, src := range []*fakeSource{silent, speaking} {
			w, err := e.Watch(bg, src, Native, FirstWithin(0))
			require.NoError(t, err)
			watches = append(watches, w)
		}
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		start := time.Now()
		time.AfterFunc(time.Second/2, func() { speaking.send(oneRule) })
		require.NoError(t, watches[1].First(ctx))
		require.Equal(t, time.Second/2, time.Since(start))
		require.Equal(t, 2, passes(e, "r", 5))
		err = watches[0].First(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "no rules of silent are in force yet")
		require.Equal(t, time.Second, time.Since(start))
		require.NoError(t, watches[0].Close())
		require.ErrorIs(t, watches[0].First(bg), datasource.ErrClosed)
	})
}

func TestSourcesOwnTheirRules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		apply(t, e, flowRules(limit("code", "c", 1)))
		a, b := newFake("a"), newFake("b")
		a.send("cordon: 1\nflow: [{id: x, resource: a, limit: 1}, {id: both, resource: s, limit: 1, per: 1h}]")
		_, err = e.Watch(bg, a, Native)
		require.NoError(t, err)
		b.send("cordon: 1\nflow: [{id: y, resource: b, limit: 1}, {id: both, resource: s, limit: 9, per: 1h}, {id: code, resource: c, limit: 9}]")
		wb, err := e.Watch(bg, b, Native)
		require.NoError(t, err)
		require.Len(t, wb.Report().Problems.Warnings(), 2, "the conflicts are reported")
		require.Equal(t, []int{1, 1, 1, 1}, []int{passes(e, "a", 9), passes(e, "b", 9), passes(e, "s", 9), passes(e, "c", 9)})
		require.Len(t, e.Rules().Flow, 4)

		a.send("cordon: 1\nflow: []")
		time.Sleep(time.Second)
		require.Len(t, e.Rules().Flow, 3)
		require.Equal(t, 8, passes(e, "s", 20), "the other source's rule takes over, and the edit keeps the count: 1 of 9 is used")
		apply(t, e, Rules{})
		require.Len(t, e.Rules().Flow, 3)
	})
}

// Rules without ids of two sources for one resource all apply, as documents of Sentinel, which have none, are usually split by kind and team.
func TestDerivedIDsOfTwoSources(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		a, b := newFake("a"), newFake("b")
		a.send("cordon: 1\nflow: [{resource: r, limit: 10, per: 1h}]")
		b.send("cordon: 1\nflow: [{resource: r, limit: 3, per: 1h}]")
		_, err = e.Watch(bg, a, Native)
		require.NoError(t, err)
		wb, err := e.Watch(bg, b, Native)
		require.NoError(t, err)
		require.Empty(t, wb.Report().Problems)
		require.Equal(t, 3, passes(e, "r", 20))
		rules := e.Rules().Flow
		require.Equal(t, []string{"r#1", "r#1@b"}, []string{rules[0].ID, rules[1].ID})
		a.send("cordon: 1\nflow: [{resource: r, limit: 11, per: 1h}]")
		time.Sleep(time.Second)
		require.Zero(t, passes(e, "r", 20), "an edit of one keeps the other's count")
	})
}

func TestKeepGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		src := newFake("s")
		src.send("cordon: 1\nflow: [{id: a, resource: a, limit: 1}, {id: b, resource: b, limit: 1}]")
		w, err := e.Watch(bg, src, Native, OnBadRule(KeepGood))
		require.NoError(t, err)
		src.send("cordon: 1\nflow: [{id: a, resource: a, limit: -1}, {id: b, resource: b, limit: 3}, {id: c, resource: c, limt: 3}]")
		time.Sleep(time.Second)
		rep := w.Report()
		require.True(t, rep.Applied)
		require.Equal(t, []rule.Change{{Kind: "flow", ID: "a"}}, rep.Kept)
		require.Len(t, rep.Problems.Faults(), 2)
		require.False(t, rep.OK())
		require.Equal(t, []int{1, 3, 9}, []int{passes(e, "a", 9), passes(e, "b", 9), passes(e, "c", 9)})
		// the good rule that was kept stays as long as its new version is bad
		src.send("cordon: 1\nflow: [{id: a, resource: a, limit: -3}]")
		time.Sleep(time.Second)
		require.Len(t, e.Rules().Flow, 1)
		src.send("cordon: 1\nflow: []")
		time.Sleep(time.Second)
		require.Empty(t, e.Rules().Flow)
	})
}

// A bad rule that nobody can tell, since its name is what is wrong with it, may be any of those that are missing: they stay.
func TestKeepGoodKeepsWhatANamelessRuleMayBe(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, Rules{})
	o := &owner{source: "s"}
	e.owners = append(e.owners, o)
	good := Rules{Flow: []flow.Rule{limit("a", "a", 1), limit("b", "b", 1)}, Concurrency: []flow.ConcurrencyRule{atMost("c", "c", 1)}}
	offer := func(rules Rules, problems ...rule.Problem) rule.Report {
		return e.apply(o, Decoded{Rules: rules, Problems: problems}, true, rule.Report{Source: "s"})
	}
	rep := offer(good)
	require.True(t, rep.OK())
	nameless := rule.Problem{Kind: "flow", Index: 1, Field: "resource", Message: "is a list"}
	rep = offer(flowRules(limit("a", "a", 7)), nameless)
	require.True(t, rep.Applied)
	require.Equal(t, []rule.Change{{Kind: "flow", ID: "b"}, {Kind: "concurrency", ID: "c"}}, rep.Kept)
	require.Equal(t, Rules{Flow: []flow.Rule{limit("a", "a", 7), limit("b", "b", 1)}, Concurrency: good.Concurrency}, e.Rules())
	nameless.Warning = true
	rep = offer(flowRules(limit("a", "a", 7)), nameless)
	require.Empty(t, rep.Kept, "a warning is of a rule that is good")
	require.Len(t, e.Rules().Flow, 1)
	require.Empty(t, e.Rules().Concurrency)
}

func TestOwnDecoder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		src := newFake("own")
		src.send("3")
		dec := func(source string, data []byte) (Decoded, error) {
			if string(data) == "panic" {
				panic("decoder")
			}
			if string(data) != "3" {
				return Decoded{}, errors.New("not 3")
			}
			return Decoded{Rules: flowRules(limit("f", "r", 3))}, nil
		}
		w, err := e.Watch(bg, src, dec)
		require.NoError(t, err)
		require.Equal(t, 3, passes(e, "r", 9))
		src.send("4")
		time.Sleep(time.Second)
		require.ErrorContains(t, w.Health().LastError, "not 3")
		src.send("panic")
		time.Sleep(time.Second)
		require.ErrorContains(t, w.Health().LastError, "decoder")
		require.True(t, w.Health().Running)
		require.Len(t, e.Rules().Flow, 1)
	})
}

// faults #78: nothing is started, written or printed until asked; engines know nothing of each other.
func TestEnginesAreIndependentAndQuiet(t *testing.T) {
	t.Parallel()
	a, _ := newTest(t, flowRules(limit("f", "r", 1)))
	b, _ := newTest(t, flowRules(limit("f", "r", 2)))
	require.Equal(t, 1, passes(a, "r", 5))
	require.Equal(t, 2, passes(b, "r", 5))
}
