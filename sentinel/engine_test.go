package sentinel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/sentinel"
)

// pushed is a source that delivers what a test pushes.
type pushed chan string

func (pushed) Name() string { return "pushed" }

func (p pushed) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	for {
		select {
		case text := <-p:
			deliver(datasource.Update{Document: datasource.Document{Data: []byte(text)}})
		case <-ctx.Done():
			return nil
		}
	}
}

// TestEngine: in an engine good rules apply, a rule that turns bad stays as it was, and what is no document clears nothing
// (faults #62, #63, #64).
func TestEngine(t *testing.T) {
	t.Parallel()
	reports := make(chan struct{}, 10)
	eng, err := cordon.New()
	require.NoError(t, err)
	defer func() { require.NoError(t, eng.Close()) }()
	src := make(pushed, 1)
	src <- `[{"resource":"a","count":1},{"resource":"a","count":10},{"resource":"b","count":2},{"resource":"c","grade":0,"count":3}]`
	decode := sentinel.Decoder(sentinel.Flow)
	watch, err := eng.Watch(t.Context(), src, func(source string, data []byte) (cordon.Decoded, error) {
		defer func() { reports <- struct{}{} }()
		return decode(source, data)
	}, cordon.Debounce(-1))
	require.NoError(t, err)
	<-reports
	limits := func(rules []flow.Rule) map[string]float64 {
		m := make(map[string]float64)
		for _, f := range rules {
			m[f.ID] = f.Limit
		}
		return m
	}
	require.Equal(t, map[string]float64{"a#1": 1, "a#2": 10, "b#1": 2}, limits(eng.Rules().Flow))
	require.Equal(t, "c#1", eng.Rules().Concurrency[0].ID)

	// push waits until the document after the pushed one is being read, so that the pushed one has been dealt with.
	push := func(text string) {
		src <- text
		<-reports
		src <- text + " "
		<-reports
	}
	push(`[{"resource":"a","count":-1},{"resource":"a","count":11},{"resource":"b","count":3},{"resource":"c","grade":0,"count":-3}]`)
	require.Equal(t, map[string]float64{"a#1": 1, "a#2": 11, "b#1": 3}, limits(eng.Rules().Flow))
	require.Equal(t, 3, eng.Rules().Concurrency[0].Limit)

	for _, nothing := range []string{"", "null", "{}", `[{"resource":"a"`, `[{"resource":"a","count":1},{"resource":"b","threshold":1}]`} {
		push(nothing)
		require.Len(t, eng.Rules().Flow, 3, nothing)
		require.Error(t, watch.Health().LastError, nothing)
	}
	push("[]")
	require.Empty(t, eng.Rules().Flow)
	require.Empty(t, eng.Rules().Concurrency)
}
