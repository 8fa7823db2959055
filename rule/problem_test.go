package rule

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProblemError(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Problem{
		"m": {Message: "m", Index: -1},
		`rules.yaml:4:18: flow[0] (orders): unknown field "limt"; did you mean "limit"?`: {
			Source: "rules.yaml", Position: Position{4, 18}, Kind: "flow", RuleID: "orders", Message: `unknown field "limt"; did you mean "limit"?`,
		},
		"a:1:2: flow[3]: memory.low: m; want w": {Source: "a", Position: Position{1, 2}, Kind: "flow", Index: 3, Field: "memory.low", Message: "m", Want: "w"},
		"a: flow: m":                            {Source: "a", Kind: "flow", Index: -1, Message: "m"},
		"1:2: m":                                {Position: Position{1, 2}, Message: "m"},
		"flow (x): m":                           {Kind: "flow", Index: -1, RuleID: "x", Message: "m"},
		"(x): m":                                {RuleID: "x", Message: "m"},
		"a:1:2: warning: flow[0]: m":            {Source: "a", Position: Position{1, 2}, Kind: "flow", Message: "m", Warning: true},
	} {
		require.EqualError(t, p, want)
	}
	require.Equal(t, "", Position{}.String())
}

func TestProblems(t *testing.T) {
	t.Parallel()
	var many Problems
	for i := range 25 {
		many = append(many, Problem{Index: -1, Message: "m", Position: Position{25 - i, 1}, Warning: i%5 == 0})
	}
	require.Len(t, many.Faults(), 20)
	require.Len(t, many.Warnings(), 5)
	require.Equal(t, "25:1: warning: m\n24:1: m", many[:2].Error())
	require.Contains(t, many.Error(), "\n6:1: m\n... and 5 more")
	require.NotContains(t, many[:20].Error(), "more")
	many.Sort()
	require.Equal(t, 1, many[0].Position.Line)

	var err error = many
	var p Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, many[0], p)
	require.True(t, errors.Is(err, many[7]))
	require.Nil(t, Problems(nil).Faults())
	require.Empty(t, Problems(nil).Error())
}
