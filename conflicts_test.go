package cordon_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/rule"
)

// fixed is a source with one document.
type fixed struct{ name, text string }

func (f fixed) Name() string { return f.name }

func (f fixed) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	deliver(datasource.Update{Document: datasource.Document{Data: []byte(f.text)}})
	<-ctx.Done()
	return nil
}

// A conflict of two sources is told by the reports on these two, and not by that on a third.
func TestConflictsAreToldWhereTheyAre(t *testing.T) {
	told := map[string]int{}
	eng, err := cordon.New(cordon.WithObserver(cordon.Observer{Report: func(r rule.Report) { told[r.Source] = len(r.Problems) }}))
	require.NoError(t, err)
	defer eng.Close()
	for _, f := range []fixed{
		{"first", "cordon: 1\nflow: [{id: a, resource: a, limit: 1}, {id: b, resource: b, limit: 1}]\n"},
		{"second", "cordon: 1\nflow: [{id: a, resource: a, limit: 2}]\n"},
		{"third", "cordon: 1\nflow: [{id: c, resource: c, limit: 1}]\n"},
		{"fourth", "cordon: 1\nflow: [{id: b, resource: b, limit: 3}, {id: c, resource: c, limit: 3}]\n"},
		{"built in", "cordon: 1\nbreaker: [{id: a, resource: a, trip: errorCount, threshold: 5}]\n"},
	} {
		_, err := eng.Watch(t.Context(), f, cordon.Native)
		require.NoError(t, err)
	}
	_, err = eng.Apply(cordon.Rules{})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"": 0, "first": 0, "second": 1, "third": 0, "fourth": 2, "built in": 0}, told)
}
