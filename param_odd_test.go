package cordon

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// fakeCarrier carries headers and a body.
type fakeCarrier struct {
	header http.Header
	body   []byte
	err    error
}

func (c *fakeCarrier) Lookup(part extractor.Part, key string) (extractor.Value, bool) {
	if v := c.header[key]; part == extractor.Header && len(v) > 0 {
		return extractor.Text(v[0]), true
	}
	return extractor.Value{}, false
}

func (c *fakeCarrier) Body(most int) ([]byte, error) {
	switch {
	case c.err != nil:
		return nil, c.err
	case c.body == nil:
		return nil, extractor.ErrNoBody
	case len(c.body) > most:
		return nil, extractor.ErrTooLarge
	}
	return c.body, nil
}

// carried makes one call with a carrier.
func carried(e *Engine, resource string, c extractor.Carrier) error {
	ent, err := e.Enter(bg, Request{Resource: resource, Carrier: c})
	ent.Exit(nil)
	return err
}

func TestParamOfCarrier(t *testing.T) {
	t.Parallel()
	by := func(id, param string) paramflow.Rule {
		return paramflow.Rule{ID: id, Resource: rule.Name("r"), Param: param, Limit: 1}
	}
	e, _ := newTest(t, paramRules(by("header", `header["x-tenant"]`), by("body", "body.user.id"), by("given", "value.uid")), WithMaxBody(50))
	tenant := func(name string) *fakeCarrier { return &fakeCarrier{header: http.Header{"X-Tenant": {name}}} }
	require.NoError(t, carried(e, "r", tenant("acme")))
	require.Error(t, carried(e, "r", tenant("acme")))
	require.NoError(t, carried(e, "r", tenant("other")))
	user := func(body string) *fakeCarrier { return &fakeCarrier{body: []byte(body)} }
	require.NoError(t, carried(e, "r", user(`{"user": {"id": 7}}`)))
	require.Error(t, carried(e, "r", user(`{"x": [1], "user": {"id": "7"}}`)))
	require.NoError(t, carried(e, "r", user(`{"user": {"id": 8}}`)))
	require.NoError(t, carried(e, "r", Values{"uid": 7}))
	require.Error(t, carried(e, "r", Values{"uid": "7"}))
	require.NoError(t, carried(e, "r", Values{"uid": nil}))
	require.NoError(t, carried(e, "r", Body(`{"user": {"id": 9}}`)))
	require.Error(t, carried(e, "r", Body(`{"user": {"id": 9}}`)))
	_, err := Body("").Body(5)
	require.ErrorIs(t, err, extractor.ErrNoBody)
	_, err = Body("1234").Body(3)
	require.ErrorIs(t, err, extractor.ErrTooLarge)
	_, err = Values{}.Body(3)
	require.ErrorIs(t, err, extractor.ErrNoBody)
	_, ok := Values{"X-Tenant": 1}.Lookup(extractor.Header, "X-Tenant")
	require.False(t, ok)
	require.NoError(t, carried(e, "r", nil))
}

// A body that cannot be read is none: the rule's word for that applies. That is told once, for it may be a mistake, but senders of such bodies make no noise.
func TestParamOfBadBodies(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	r := paramflow.Rule{ID: "p", Resource: rule.Name("r"), Param: "body.user.id", Limit: 3, Absent: paramflow.Count}
	e, _ := newTest(t, paramRules(r), WithMaxBody(20), WithObserver(rec.observer()))
	errs := 0
	for range 5 {
		for _, c := range []*fakeCarrier{{body: []byte("{")}, {body: make([]byte, 21)}, {}, {body: []byte(`{"user": 7}`)}} {
			if carried(e, "r", c) != nil {
				errs++
			}
		}
	}
	require.Equal(t, 17, errs, "together they are one value")
	require.NoError(t, carried(e, "r", &fakeCarrier{body: []byte(`{"user":{"id":1}}`)}))
	p := snap(t, e, "r").Rules[0].Param
	require.EqualValues(t, 20, p.Absent)
	require.EqualValues(t, 10, p.Unreadable)
	require.Len(t, rec.faults, 2)
	require.Equal(t, "param rule p", rec.faults[0].Where)
	require.Equal(t, "r", rec.faults[0].Resource)
	require.ErrorIs(t, rec.faults[0].Err, extractor.ErrNotJSON)
	require.ErrorIs(t, rec.faults[1].Err, extractor.ErrTooLarge)
	require.EqualValues(t, 2, e.Snapshot().Faults)
	require.NoError(t, carried(e, "r", &fakeCarrier{body: []byte(`{"user":{"id":2}}`)}))
	require.NoError(t, carried(e, "r", &fakeCarrier{err: errors.New("out of order")}), "a carrier that fails is a fault")
	require.Len(t, rec.faults, 3)
}

// A path that does not fit a type is told once for each rule and type, and the calls have no value.
func TestParamOfTypesThatDoNotFit(t *testing.T) {
	t.Parallel()
	type order struct{ ID int }
	rec := &recorder{}
	r := perValue("p", "r", 1)
	r.Param = "arg[0].Customer"
	q := r
	q.ID = "q"
	e, _ := newTest(t, paramRules(r, q), WithObserver(rec.observer()))
	for range 5 {
		require.NoError(t, with(e, "r", order{}))
		require.NoError(t, with(e, "r", &order{}))
	}
	require.Len(t, rec.faults, 4)
	var misfit *extractor.TypeError
	require.ErrorAs(t, rec.faults[0].Err, &misfit)
	require.Contains(t, misfit.Type, "order")
	require.EqualValues(t, 10, snap(t, e, "r").Rules[0].Param.Absent)
	r.Limit = 2
	apply(t, e, paramRules(r, q))
	require.NoError(t, with(e, "r", order{}))
	require.Len(t, rec.faults, 4, "an edit of something else tells nothing anew")
	require.NoError(t, with(e, "r", struct{ Customer string }{"a"}))
}

// Law 9: what panics in an extractor, or in an object, lets the call pass or blocks it, as chosen; it is counted, told, and holds nothing.
func TestParamOfPanics(t *testing.T) {
	t.Parallel()
	boom := extractor.Func(func(c *extractor.Call) (extractor.Value, bool) {
		if c.Args[0] == "boom" {
			panic("boom")
		}
		return extractor.Of(c.Args[0])
	})
	for _, policy := range []FaultPolicy{PassOnFault, BlockOnFault} {
		rec := &recorder{}
		own, object, trial := valuesInFlight("own", "r", 1), perValue("object", "r", 2), perValue("trial", "r", 1)
		own.Param, object.Param, trial.Param, trial.Shadow = "uid", "arg[1].Key", "uid", true
		e, _ := newTest(t, paramRules(own, object, trial), WithExtractor("uid", boom), WithFaultPolicy(policy), WithObserver(rec.observer()))
		require.NoError(t, with(e, "r", "a"))
		for i := range 3 {
			err := with(e, "r", "boom")
			if policy == PassOnFault {
				require.NoError(t, err)
				require.Len(t, rec.faults, 2*(i+1))
			} else {
				require.ErrorIs(t, err, ErrFault)
				require.ErrorIs(t, err, ErrBlocked)
				require.EqualError(t, err, `cordon: param rule "own" blocked "r": internal fault`)
				require.Len(t, rec.faults, i+1)
			}
		}
		require.EqualValues(t, 3, snap(t, e, "r").Rules[0].Param.Faults)
		var failed *extractor.CallError
		require.ErrorAs(t, rec.faults[0].Err, &failed)
		require.True(t, failed.Panicked)
		require.Equal(t, `extractor "uid"`, failed.What)

		n := len(rec.faults)
		err := with(e, "r", "b", bad{})
		require.Equal(t, policy == BlockOnFault, errors.Is(err, ErrFault))
		require.Len(t, rec.faults, n+1)
		require.Equal(t, 1, holdsWith(e, "r", "b"), "what the fault refused gave its place back")
	}
}

// bad panics when it is asked for its key.
type bad struct{}

func (bad) GetKey() string { panic("no key") }

// An extractor may do what it likes with the call that it was given: no other call ever gets that one (faults #93).
func TestParamGivesEveryExtractorItsOwnCall(t *testing.T) {
	t.Parallel()
	var kept []*extractor.Call
	r := perValue("p", "r", 1)
	r.Param = "uid"
	e, _ := newTest(t, paramRules(r), WithExtractor("uid", extractor.Func(func(c *extractor.Call) (extractor.Value, bool) {
		kept = append(kept, c)
		return extractor.Of(c.Args[0])
	})))
	type key struct{}
	for i := range 10 {
		ent, err := e.Enter(context.WithValue(bg, key{}, i), Request{Resource: "r", Method: "GET", Origin: "web", Args: []any{i}})
		require.NoError(t, err)
		ent.Exit(nil)
	}
	for i, c := range kept {
		require.Equal(t, []any{i}, c.Args)
		require.Equal(t, i, c.Context.Value(key{}))
		require.Equal(t, []string{"r", "GET", "web"}, []string{c.Resource, c.Method, c.Origin})
	}
}

// faults #54: no argument escapes its limit by being of an odd kind.
func TestParamOfOddArguments(t *testing.T) {
	t.Parallel()
	r := perValue("p", "r", 1)
	r.Absent = paramflow.Count
	e, _ := newTest(t, paramRules(r))
	for _, arg := range []any{
		[]string{"a"}, map[string]int{"a": 1}, func() {}, make(chan int), struct{ A []int }{}, math.NaN(), [2]int{}, nil, &struct{}{},
	} {
		for range 20 {
			with(e, "r", arg)
		}
	}
	require.EqualValues(t, 1, snap(t, e, "r").Passed, "all of them are calls without the value")
	require.Equal(t, 1, passesWith(e, "r", 5, string([]byte{0xff, 0xfe})))
	require.Equal(t, 1, passesWith(e, "r", 5, json.Number("1e2")))
	require.Zero(t, passesWith(e, "r", 5, 100.0), "1e2 and 100 are one value")
}

func TestParamOptions(t *testing.T) {
	t.Parallel()
	uid := extractor.Func(func(*extractor.Call) (extractor.Value, bool) { return extractor.Int(7), true })
	for want, opts := range map[string][]Option{
		"has an extractor of that name already":      {WithExtractor("uid", uid), WithExtractor("uid", uid)},
		`the name "header" has a meaning in paths`:   {WithExtractor("header", uid)},
		`the name "a.b" cannot be written in a path`: {WithExtractor("a.b", uid)},
		`the extractor "nil" is nil`:                 {WithExtractor("nil", nil)},
		"walker 0 is nil":                            {WithWalker(nil)},
		"WithMaxBody(0): want 1 to":                  {WithMaxBody(0)},
		"WithMaxBody(1073741825)":                    {WithMaxBody(1<<30 + 1)},
	} {
		_, err := New(opts...)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "cordon: ")
	}
	r := perValue("p", "r", 2)
	r.Param = "uid + arg[0]"
	e, _ := newTest(t, paramRules(r), WithExtractor("uid", uid))
	require.Equal(t, 2, passesWith(e, "r", 5, "a"))
	require.Equal(t, 2, passesWith(e, "r", 5, "b"))
	top := snap(t, e, "r").Rules[0].Param.Top
	require.ElementsMatch(t, []string{"7|a", "7|b"}, []string{top[0].Value, top[1].Value})
}

func TestParamRedact(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	r := perValue("p", "r", 1)
	r.Redact = true
	e, _ := newTest(t, paramRules(r), WithObserver(rec.observer()))
	require.Equal(t, 1, passesWith(e, "r", 2, "secret"))
	require.Regexp(t, "^hmac:[0-9a-f]{32}$", rec.blocks[0].Value())
	require.Equal(t, rec.blocks[0].Value(), snap(t, e, "r").Rules[0].Param.Top[0].Value)
	data, err := json.Marshal(e.Snapshot())
	require.NoError(t, err)
	require.NotContains(t, string(data), "secret")
}

func TestNamer(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	e, _ := newTest(t, Rules{}, WithObserver(rec.observer()), WithExtractor("boom", extractor.Func(func(*extractor.Call) (extractor.Value, bool) { panic("boom") })))
	n, err := e.Namer(`resource + header["X-Tenant"]`)
	require.NoError(t, err)
	req := Request{Resource: "orders", Carrier: &fakeCarrier{header: http.Header{"X-Tenant": {"acme"}}}}
	require.Equal(t, "orders|acme", n.Name(bg, &req))
	require.Equal(t, "orders", n.Name(bg, &Request{Resource: "orders"}))
	n, err = e.Namer("arg[0].Customer")
	require.NoError(t, err)
	require.Equal(t, "r", n.Name(nilContext(), &Request{Resource: "r", Args: []any{struct{}{}}}))
	require.Len(t, rec.faults, 1)
	n, err = e.Namer("body.x")
	require.NoError(t, err)
	require.Equal(t, "r", n.Name(bg, &Request{Resource: "r", Carrier: &fakeCarrier{body: []byte("{")}}))
	require.Len(t, rec.faults, 1, "a bad body is no fault of ours")
	n, err = e.Namer("boom")
	require.NoError(t, err)
	require.Equal(t, "r", n.Name(bg, &Request{Resource: "r"}))
	require.Len(t, rec.faults, 2)
	_, err = e.Namer("heder.x")
	require.ErrorContains(t, err, `cordon: Namer: the path "heder.x", byte 0: there is no value called "heder"; want header (did you mean that?)`)
}

// Rules with many different limits tell the limit of as many as are kept.
func TestParamManyLimits(t *testing.T) {
	t.Parallel()
	r := perValue("p", "r", 1)
	for i := range 40 {
		r.Overrides = append(r.Overrides, paramflow.Override{Wildcard: "v" + string(rune('A'+i)) + "*", Limit: float64(i + 2)})
	}
	e, _ := newTest(t, paramRules(r))
	told := map[float64]int{}
	for i := range 40 {
		for {
			err := with(e, "r", "v"+string(rune('A'+i)))
			var b *BlockedError
			if errors.As(err, &b) {
				told[b.Limit]++
				if b.Limit < 0 {
					require.NotContains(t, err.Error(), "limit -1")
				} else {
					require.EqualValues(t, i+2, b.Limit)
				}
				break
			}
		}
	}
	require.Len(t, told, mostLimits+1)
	require.Equal(t, 40-mostLimits, told[-1])
}
