package cordon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

// Of several isolation rules for one service the first one decides: who writes a second one hears of it, by code and in a document.
func TestOverriddenIsolationRules(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, Rules{})
	trial := forAll("trial")
	trial.Shadow = true
	rep := apply(t, e, isolationRules(trial, isolation.Rule{ID: "orders", Service: rule.Name("orders")}, forAll("all"),
		isolation.Rule{ID: "wild", Service: rule.Wildcard("orders")}, isolation.Rule{ID: "again", Service: rule.Name("orders"), Shadow: true}))
	require.True(t, rep.Applied)
	const want = `warning: isolation[2] (all): service: the rule is never used: "trial", in shadow, stands before it for the same service, and of several the first one decides; want one rule for each service`
	require.Equal(t, []string{
		want,
		`warning: isolation[4] (again): service: the rule is never used: "orders" stands before it for the same service, and of several the first one decides; want one rule for each service`,
	}, []string{rep.Problems[0].Error(), rep.Problems[1].Error()})
	require.Len(t, rep.Problems, 2)

	d, err := Native("", []byte(`cordon: 1
isolation:
  - {id: trial, service: {default: true}, shadow: true}
  - {id: orders, service: orders}
  - {id: all, service: {default: true}}
flow:
  - {id: a, resource: {default: true}, limit: 1}
  - {id: b, resource: {default: true}, limit: 2}
`))
	require.NoError(t, err)
	require.Len(t, d.Problems, 1)
	require.Equal(t, rule.Position{Line: 5, Column: 24}, d.Problems[0].Position)
	d.Problems[0].Position = rule.Position{}
	require.Equal(t, want, d.Problems[0].Error())
	require.Len(t, d.Rules.Isolation, 3)

	d2, err := Native("", []byte(`cordon: 1
isolation:
  - {id: a, service: {default: true}}
  - {id: b, service: {default: true}, probes: -1}
`))
	require.NoError(t, err)
	require.Len(t, d2.Problems, 1, "one with a fault is to be mended first")

	// A document's warning is not said twice.
	rep = e.apply(e.code, d, false, rule.Report{})
	require.True(t, rep.Applied)
	require.Len(t, rep.Problems, 1)
}
