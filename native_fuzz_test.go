package cordon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
)

// FuzzNative holds that no document makes the decoder panic, that every problem says where it is, and that what was read without a
// fault can be applied, and is written and read back the same.
func FuzzNative(f *testing.F) {
	for _, seed := range []string{
		"", "cordon: 1", oneRule, "null", "[]", "cordon: 1\nflow: 7\n", "cordon: 1\nflow: [{}]", "cordon: 1\nflow: [1, null, {id: 7}]",
		`{"cordon": 1, "flow": [{"id": "f", "resource": {"wildcard": "/a/*"}, "limit": 0.5, "mode": "pace", "maxWait": "500ms"}]}`,
		"cordon: 1\nconcurrency:\n  - {id: db, resource: db.Query, limit: 20, maxWait: 50ms, queue: 100}\n",
		"cordon: 1\nbreaker:\n  - {resource: {default: true}, trip: slowRatio, threshold: 1, slowerThan: 1ms, maxOpen: 2m}\n",
		"cordon: 1\nflow: [{resource: a, limit: 1}, {resource: a, limit: -1}, {id: a#1, resource: {regex: '['}, limit: 1e99}]\n",
		"cordon: 1\nflow: [{resource: \"\\u0000\\\"\", limit: 1, memory: {lowLimit: 5, highLimit: 1, lowMark: 0.5, highMark: 0.9}}]\n",
		"cordon: 1\nisolation: [{id: all, service: {default: true}}, {service: r, preset: quick, minSuccessRate: 0.9, window: 5s, base: 2s, shadow: true}]\n",
		"cordon: 1\nisolation: [{service: {regex: '('}, base: 0}, {service: s, evidence: 1e99}, {service: 7}, {id: x, resource: r}, null]\n",
		`{"cordon": 1, "isolation": [{"service": {"wildcard": "r*"}, "maxShare": 1, "mayEmpty": true, "noFallback": true, "slowStart": "1ms"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Native("fuzz", data)
		if err != nil {
			require.NotEmpty(t, problemsOf(err, ""))
			return
		}
		for _, p := range d.Problems {
			require.Equal(t, "fuzz", p.Source)
			require.NotEmpty(t, p.Error())
		}
		if len(d.Problems.Faults()) > 0 {
			return
		}
		e, err := New(WithRules(d.Rules))
		require.NoError(t, err, "what the decoder lets pass can be applied")
		if ent, err := e.Enter(bg, Request{Resource: "r", Origin: "o"}); err == nil {
			ent.Exit(nil)
		} else {
			require.ErrorIs(t, err, ErrBlocked)
		}
		e.NewGroup("r").Update(e.Clock().Now(), []isolation.Instance{{Address: "a"}, {Address: "b"}})
		require.Len(t, e.Snapshot().Services, 1)
		require.NoError(t, e.Close())
		text, err := EncodeNative(d.Rules)
		require.NoError(t, err)
		back, err := Native("back", text)
		require.NoError(t, err, "%s", text)
		require.Empty(t, back.Problems.Faults(), "%s", text)
		require.Equal(t, len(d.Rules.Flow), len(back.Rules.Flow))
		for i, r := range d.Rules.Flow {
			require.True(t, r.Equal(back.Rules.Flow[i]), "%s", text)
		}
		require.Equal(t, d.Rules.Concurrency, back.Rules.Concurrency)
		for i, r := range d.Rules.Breaker {
			require.True(t, r.Equal(back.Rules.Breaker[i]), "%s", text)
		}
		require.Equal(t, d.Rules.Isolation, back.Rules.Isolation, "%s", text)
	})
}
