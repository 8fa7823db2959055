package cordon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

func paramRules(rs ...paramflow.Rule) Rules { return Rules{Param: rs} }

// perValue limits calls of one value of the first argument.
func perValue(id, resource string, n float64) paramflow.Rule {
	return paramflow.Rule{ID: id, Resource: rule.Name(resource), Param: "arg[0]", Limit: n}
}

// with makes one call with arguments, and returns what Enter said.
func with(e *Engine, resource string, args ...any) error {
	ent, err := e.Enter(bg, Request{Resource: resource, Args: args})
	ent.Exit(nil)
	return err
}

// passesWith makes n calls with one argument at once and returns how many were admitted.
func passesWith(e *Engine, resource string, n int, arg any) (admitted int) {
	for range n {
		if with(e, resource, arg) == nil {
			admitted++
		}
	}
	return admitted
}

// hold enters with an argument.
func holdWith(e *Engine, resource string, args ...any) (*Entry, error) {
	ent, err := e.Enter(bg, Request{Resource: resource, Args: args})
	return &ent, err
}

func TestParamLimitsEachValue(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	e, clk := newTest(t, paramRules(paramflow.Rule{
		ID: "users", Resource: rule.Name("r"), Param: "arg[0]", Limit: 2, Overrides: []paramflow.Override{{Value: "vip", Limit: 5}, {Value: "7", Limit: 0}},
	}), WithObserver(rec.observer()))
	require.Equal(t, 2, passesWith(e, "r", 5, "a"))
	require.Equal(t, 2, passesWith(e, "r", 5, "b"))
	require.Equal(t, 5, passesWith(e, "r", 9, "vip"))
	require.Equal(t, 0, passesWith(e, "r", 3, 7))
	require.NoError(t, with(e, "r"), "a call without the value passes")

	err := with(e, "r", "a")
	var b *BlockedError
	require.ErrorAs(t, err, &b)
	require.ErrorIs(t, err, ErrBlocked)
	require.ErrorIs(t, err, paramflow.ErrLimited)
	require.Equal(t, KindParam, b.Kind)
	require.Equal(t, "users", b.RuleID)
	require.Equal(t, "r", b.Resource)
	require.EqualValues(t, 2, b.Limit)
	require.Equal(t, 500*time.Millisecond, b.RetryAfter)
	require.EqualError(t, err, `cordon: param rule "users" blocked "r": limit of the value exceeded (limit 2), retry after 500ms`)
	require.ErrorAs(t, with(e, "r", "vip"), &b)
	require.EqualValues(t, 5, b.Limit, "the limit of the value")
	require.ErrorContains(t, with(e, "r", 7), "(limit 0), which waiting cannot change")
	require.Equal(t, "a", rec.blocks[len(rec.blocks)-3].Value())
	require.Equal(t, "vip", rec.blocks[len(rec.blocks)-2].Value())
	require.Equal(t, "7", rec.blocks[len(rec.blocks)-1].Value())

	clk.Advance(500 * time.Millisecond)
	require.Equal(t, 1, passesWith(e, "r", 3, "a"))
	s := snap(t, e, "r")
	require.EqualValues(t, 11, s.Passed)
	require.Equal(t, s.Blocked, map[string]int64{"param": s.Rules[0].Blocked})
	require.Equal(t, "param", s.Rules[0].Kind)
	p := s.Rules[0].Param
	require.Equal(t, "arg[0]", p.Param)
	require.EqualValues(t, 1, p.Absent)
	require.EqualValues(t, 10, p.Passed)
}
