package cordon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// What is wrong with a rule on values is said with its place, and within the path with the byte.
func TestNativeParamFaults(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"param: [{id: a, resource: r, param: 'arg[0]'}]":                                                                 "doc:2:9: param[0] (a): limit: is missing; want a limit; 0 to refuse all calls",
		"param: [{id: a, resource: r, limit: 1}]":                                                                        "param[0] (a): param: is missing: a rule must say which value it limits",
		"param: [{id: a, resource: r, param: 'header.X Y', limit: 1}]":                                                   `doc:2:37: param[0] (a): param: the path "header.X Y", byte 9: "Y" cannot follow header.X`,
		"param: [{id: a, resource: r, param: heder.x, limit: 1}]":                                                        `doc:2:37: param[0] (a): param: the path "heder.x", byte 0: there is no value called "heder"; want header (did you mean that?)`,
		"param: [{id: a, resource: r, param: header, limit: 1}]":                                                         `byte 6: header alone is no value`,
		"param: [{id: a, resource: r, param: uid + 7, limit: 1}]":                                                        `byte 6: "7" cannot begin a path`,
		"param: [{id: a, resource: r, param: 'uid[0]', limit: 1}]":                                                       `byte 0: there is no value called "uid"`,
		"param: [{id: a, resource: r, param: a+b+c+d+e+f+g+h+i, limit: 1}]":                                              `too many values for a composite; want at most 8`,
		"param: [{id: a, resource: r, param: uid, limit: 1, per: 0s}]":                                                   "per: 0 is out of range; want more, or no such field for the default",
		"param: [{id: a, resource: r, param: uid, limit: 1, values: 0}]":                                                 "values: 0 is out of range",
		"param: [{id: a, resource: r, param: uid, limit: 1, burst: 0}]":                                                  "burst: 0 is out of range",
		"param: [{id: a, resource: r, param: uid, limit: 1, mode: smooth}]":                                              `mode: unknown value "smooth"`,
		"param: [{id: a, resource: r, param: uid, limit: 1, overrides: [{value: 7}]}]":                                   "doc:2:64: param[0] (a): overrides[0].limit: is missing; want a limit; 0 to refuse all calls",
		"param: [{id: a, resource: r, param: uid, limit: 1, overrides: [{value: 7, limit: 1, burst: 0}]}]":               "overrides[0].burst: 0 is out of range",
		"param: [{id: a, resource: r, param: uid, limit: 1, overrides: [{value: 7, limit: -1}]}]":                        "doc:2:82: param[0] (a): overrides[0].limit: -1 per 1s is out of range",
		"param: [{id: a, resource: r, param: uid, limit: 1, overrides: [{value: 7, limit: 1}, {value: '7', limit: 2}]}]": "overrides[1].value: is the same as that of overrides[0]",
		"param: [{id: a, resource: r, param: uid, limit: 1, overrides: [{regex: '(', limit: 1}]}]":                       "overrides[0].regex: ",
	} {
		d, err := Native("doc", []byte("cordon: 1\n"+doc))
		require.NoError(t, err)
		require.Len(t, d.Problems.Faults(), 1, doc)
		require.ErrorContains(t, d.Problems, want, doc)
		require.Empty(t, d.Rules.Param)
	}
}

// Which extractors there are, only the engine knows: a document that names another is refused when it gets there, with the place.
func TestNativeParamOfOwnExtractors(t *testing.T) {
	t.Parallel()
	doc := "cordon: 1\nparam:\n  - {id: a, resource: r, param: uid + tenant, limit: 1}\n  - {id: b, resource: r, param: \"uid\", limit: 1}\n"
	own := extractor.Func(func(*extractor.Call) (extractor.Value, bool) { return extractor.Int(1), true })
	d, err := Native("doc", []byte(doc))
	require.NoError(t, err)
	require.Empty(t, d.Problems)

	e, _ := newTest(t, Rules{}, WithExtractor("uid", own))
	src := newFake("file")
	src.send(doc)
	w, err := e.Watch(bg, src, Native)
	require.ErrorContains(t, err, `file:3:33: param[0] (a): param: the path "uid + tenant"`)
	defer w.Close()
	require.Empty(t, e.Rules().Param)
	require.ErrorContains(t, w.Report().Problems, `:3:33: param[0] (a): param: the path "uid + tenant", byte 6: there is no value called "tenant"; want one of arg`)
	require.ErrorContains(t, w.Report().Problems, "or an extractor of one's own: uid")

	e, _ = newTest(t, Rules{}, WithExtractor("uid", own), WithExtractor("tenant", own))
	_, err = e.Apply(d.Rules)
	require.NoError(t, err)
	require.Equal(t, 1, passes(e, "r", 3))
	_, err = New(WithRules(d.Rules))
	require.ErrorContains(t, err, `param[1] (b): param: the path "uid", byte 0: there is no value called "uid"`)
}

func TestNativeParamIsWrittenBack(t *testing.T) {
	t.Parallel()
	rules := paramRules(
		paramflow.Rule{ID: "a", Resource: rule.Wildcard("/a/*"), Param: `header["X-Tenant"] + method`, Limit: 0.5, Burst: 3, Absent: paramflow.Count, Redact: true,
			Overrides: []paramflow.Override{{Value: "7", Limit: 0}, {Value: "true"}, {Value: "007", Limit: 2, Burst: 9}, {Wildcard: "vip*", Limit: 5}, {Regex: "^$"}}},
		paramflow.Rule{ID: "b", Resource: rule.Name("r"), Param: "uid", Mode: paramflow.Concurrency},
		paramflow.Rule{ID: "c", Resource: rule.Default(), Param: "client.ip", Mode: paramflow.Pace, Limit: 3, MaxWait: 1e9, MaxQueue: 5, Values: 1000, Shared: true, Also: true, Origin: "web"},
	)
	data, err := EncodeNative(rules)
	require.NoError(t, err)
	back, err := Native("back", data)
	require.NoError(t, err)
	require.Empty(t, back.Problems.Faults(), "%s", data)
	require.Equal(t, rules.Param, back.Rules.Param, "%s", data)
}
