package cordon

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
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
		"isolation: [{id: a, service: s, base: 0s}]":                                   "doc:2:39: isolation[0] (a): base: 0 is out of range; want more, or no such field for the default",
		"isolation: [{id: a, service: s, minSuccessRate: 0}]":                          "minSuccessRate: 0 is out of range",
		"isolation: [{id: a, service: s, maxShare: 0.0}]":                              "maxShare: 0 is out of range",
		"isolation: [{id: a, resource: s}]":                                            `doc:2:21: isolation[0] (a): unknown field "resource"`,
		"isolation: [{id: a}]":                                                         "doc:2:13: isolation[0] (a): service: a rule must say for which services it is",
		"isolation: [{id: a, service: {regex: '['}}]":                                  "doc:2:30: isolation[0] (a): service: regex",
		"isolation: [{id: a, service: s, preset: quik}]":                               `preset: unknown value "quik"; did you mean "quick"?`,
		"isolation: [{service: s, window: 5s}]":                                        "isolation[0] (s#1): window: is used only by minSuccessRate",
		"isolation: [{id: a, service: s}, {id: a, service: t}]":                        "doc:2:39: isolation[1] (a): id: \"a\" is used twice",
	} {
		d, err := Native("doc", []byte("cordon: 1\n"+doc))
		require.NoError(t, err)
		require.Len(t, d.Problems.Faults(), 1, doc)
		require.ErrorContains(t, d.Problems, want, doc)
	}
	d, err := Native("doc", []byte(`cordon: 1
flow: [{id: a, resource: r, limit: 0}, {id: p, resource: r, limit: 1, mode: pace, maxWait: 0}, {id: m, resource: m, memory: {lowLimit: 2, highLimit: 1, lowMark: 0.5, highMark: 0.9}}]
breaker: [{id: b, resource: r, threshold: 0.5, jitter: 0}]
isolation: [{service: {default: true}}, {service: {default: true}, preset: quick, mayEmpty: false}, {id: s, service: s, minSuccessRate: 0.9, base: 1500ms, shadow: true}]`))
	require.NoError(t, err)
	require.Empty(t, d.Problems.Faults())
	require.Len(t, d.Rules.Flow, 3)
	require.Len(t, d.Rules.Isolation, 3)
	require.Equal(t, "default#2", d.Rules.Isolation[1].ID)
	data, err := EncodeNative(d.Rules)
	require.NoError(t, err)
	back, err := Native("back", data)
	require.NoError(t, err)
	require.Empty(t, back.Problems.Faults())
	require.Equal(t, d.Rules, back.Rules)
}

// Every number and duration of an isolation rule is left out for its default, whichever there will be.
func TestNoNumberOfIsolationIsZero(t *testing.T) {
	t.Parallel()
	typ, keys := reflect.TypeFor[isolation.Rule](), neverZero("isolation")
	for i := range typ.NumField() {
		key := typ.Field(i).Tag.Get("rule")
		switch typ.Field(i).Type {
		case reflect.TypeFor[int](), reflect.TypeFor[float64](), reflect.TypeFor[time.Duration]():
			require.Contains(t, keys, key)
			doc := "cordon: 1\nisolation: [{id: a, service: s, minSuccessRate: 0.5, " + key + ": 0}]"
			if key == "minSuccessRate" {
				doc = "cordon: 1\nisolation: [{id: a, service: s, minSuccessRate: 0}]"
			}
			d, err := Native("doc", []byte(doc))
			require.NoError(t, err)
			require.ErrorContains(t, d.Problems, key+": 0 is out of range")
			require.Empty(t, d.Rules.Isolation)
		default:
			require.NotContains(t, keys, key)
		}
	}
}

// Rules within another document are read as a document of their own is, at their positions, with or without the mark.
func TestNativeWithin(t *testing.T) {
	t.Parallel()
	within := func(doc string) (Decoded, error) {
		root, err := rule.Parse([]byte("name: x\nrules:\n  " + doc))
		require.NoError(t, err)
		return NativeWithin("doc", root.Field("rules"))
	}
	d, err := within("{flow: [{id: a, resource: r, limit: 1}], isolation: [{service: s}]}")
	require.NoError(t, err)
	require.Empty(t, d.Problems)
	require.Equal(t, "a", d.Rules.Flow[0].ID)
	require.Equal(t, "s#1", d.Rules.Isolation[0].ID)
	marked, err := within("{cordon: 1, flow: [{id: a, resource: r, limit: 1}], isolation: [{service: s}]}")
	require.NoError(t, err)
	require.Equal(t, d, marked)

	d, err = within("{flow: [{id: a, resource: r, limti: 1}]}")
	require.NoError(t, err)
	require.EqualError(t, d.Problems, `doc:3:32: flow[0] (a): unknown field "limti"; did you mean "limit"?`)
	for doc, want := range map[string]string{
		"{flwo: []}":            `doc:3:4: unknown field "flwo"; did you mean "flow"?`,
		"{cordon: 2, flow: []}": "doc:3:12: cordon: unknown version of the document: 2; want 1",
		"[]":                    "doc:3:3: the document is no object",
	} {
		_, err := within(doc)
		require.ErrorContains(t, err, want)
	}
}

// No rules are a document as well: the one that says so.
func TestEncodeNativeOfNothing(t *testing.T) {
	t.Parallel()
	data, err := EncodeNative(Rules{})
	require.NoError(t, err)
	require.Equal(t, "cordon: 1\n", string(data))
	d, err := Native("s", data)
	require.NoError(t, err)
	require.Empty(t, d.Problems)
}
