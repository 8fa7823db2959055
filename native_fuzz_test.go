package cordon

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/paramflow"
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
		"cordon: 1\nparam: [{resource: r, param: 'arg[0].a[\"b\"] + header.x', limit: 0.5, burst: 3, absent: count, overrides: [{value: 7.0, limit: 0}, {regex: '^$', limit: 1}]}]\n",
		"cordon: 1\nparam: [{resource: {default: true}, param: uid, mode: concurrency, limit: 1, redact: true}, {param: 'arg[', limit: 1e99, overrides: [{}, 7, null]}, {resource: r, param: uid + uid, limit: 1}]\n",
		`{"cordon": 1, "param": [{"resource": {"regex": "r.*"}, "param": "client.ip", "mode": "pace", "limit": 1, "maxWait": "1s", "maxQueue": 2, "values": 100, "overrides": [{"value": true, "limit": 2}, {"wildcard": "*", "limit": 3}]}]}`,
		"cordon: 1\nsystem: [{metric: cpu, limit: 0.8}, {id: l, metric: load, limit: 3.5, admission: refuse}, {metric: responseTime, slowerThan: 1s}, {metric: concurrency, limit: 0}, {metric: rate, limit: 0.5, shadow: true}]\n",
		`{"cordon": 1, "system": [{"metric": "rate", "limit": 1e99}, {"metric": "qps"}, {"limit": -1}, {"metric": "cpu", "limit": 80, "slowerThan": "0s"}, 7, null]}`,
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
		var opts []Option // the extractors that rules name
		memory := 0
		for word := range wordsOf(d.Rules.Param) {
			opts = append(opts, WithExtractor(word, extractor.Func(func(c *extractor.Call) (extractor.Value, bool) { return extractor.Text(c.Origin), true })))
		}
		for _, r := range d.Rules.Param {
			memory += r.Values
		}
		if memory > 1_000_000 {
			return
		}
		e, err := New(append(opts, WithRules(d.Rules))...)
		require.NoError(t, err, "what the decoder lets pass can be applied")
		if ent, err := e.Enter(bg, Request{Resource: "r", Inbound: true, Origin: "o", Args: []any{7}, Carrier: Values{"x": 1}}); err == nil {
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
		require.Equal(t, len(d.Rules.Param), len(back.Rules.Param), "%s", text)
		for i, r := range d.Rules.Param {
			require.True(t, r.Equal(back.Rules.Param[i]), "%s", text)
		}
	})
}

// wordsOf returns the names of extractors that rules have in their paths.
func wordsOf(rules []paramflow.Rule) map[string]bool {
	words := map[string]bool{}
	for _, r := range rules {
		for _, term := range strings.Split(r.Param, "+") {
			word := strings.Trim(term, " \t")
			stub := extractor.Func(func(*extractor.Call) (extractor.Value, bool) { return extractor.Value{}, false })
			if (extractor.Options{Named: map[string]extractor.Extractor{word: stub}}).Validate() == nil {
				words[word] = true
			}
		}
	}
	return words
}
