package cordon

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A document says what it means: a forgotten limit never refuses all, and a 0 out of range is never a default.
func TestNativeLeavesNothingToChance(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"flow: [{id: a, resource: r}]":                                                 "doc:2:8: flow[0] (a): limit: is missing; want a limit; 0 to refuse all calls",
		"concurrency: [{id: a, resource: r, maxWait: 1s}]":                             "concurrency[0] (a): limit: is missing",
		"flow: [{id: a, resource: r, limit: 1, per: 0s}]":                              "per: 0 is out of range; want more, or no such field for the default",
		"flow: [{id: a, resource: r, limit: 1, per: 0}]":                               "per: 0 is out of range",
		"flow: [{id: a, resource: r, limit: 1, mode: smooth, burst: 0}]":               "burst: 0 is out of range",
		"concurrency: [{id: a, resource: r, limit: 1, maxWait: 1s, queue: 0}]":         "queue: 0 is out of range",
		"breaker: [{id: a, resource: r, trip: errorCount, threshold: 3, minCalls: 0}]": "minCalls: 0 is out of range",
		"breaker: [{id: a, resource: r, threshold: 0.5, probes: 0}]":                   "probes: 0 is out of range",
	} {
		d, err := Native("doc", []byte("cordon: 1\n"+doc))
		require.NoError(t, err)
		require.Len(t, d.Problems.Faults(), 1, doc)
		require.ErrorContains(t, d.Problems, want, doc)
	}
	d, err := Native("doc", []byte(`cordon: 1
flow: [{id: a, resource: r, limit: 0}, {id: p, resource: r, limit: 1, mode: pace, maxWait: 0}, {id: m, resource: m, memory: {lowLimit: 2, highLimit: 1, lowMark: 0.5, highMark: 0.9}}]
breaker: [{id: b, resource: r, threshold: 0.5, jitter: 0}]`))
	require.NoError(t, err)
	require.Empty(t, d.Problems.Faults())
	require.Len(t, d.Rules.Flow, 3)
	data, err := EncodeNative(d.Rules)
	require.NoError(t, err)
	back, err := Native("back", data)
	require.NoError(t, err)
	require.Empty(t, back.Problems.Faults())
	require.Equal(t, d.Rules, back.Rules)
}
