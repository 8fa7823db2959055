package extractor_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
)

// hotCases are the calls of which values must be got without memory.
func hotCases() (*extractor.Call, map[string]int) {
	o := anOrder()
	generic := map[string]any{"user": map[string]any{"id": "u-1", "n": 5.0, "list": []any{"a", "b"}}, "m": map[any]any{"k": "v"}}
	call := &extractor.Call{Resource: "r", Origin: "o", Method: "GET", Args: []any{o, generic, map[string]string{"k": "v"}, "text", int64(7), json.RawMessage(`{"id":7}`)}, Carrier: &carrier{
		parts: map[extractor.Part]map[string]string{extractor.Header: {"X-Tenant": "acme"}, extractor.Query: {"uid": "77"}, extractor.Cookie: {"sid": "s"}},
		body:  []byte(`{"x":[1,{"y":"z\n"}],"user":{"id":102,"name":"Ann"}}`),
	}}
	return call, map[string]int{
		"arg[0].Customer.ID": 0, "arg[0].Customer.Name": 0, "arg[0].items[-1].sku": 0, "arg[0].items[*].count": 0, "arg[0].buyer.email": 0, "arg[0].options.deep.er[0].x": 0, "arg[0].any.c.id": 0, "arg[0].By": 0, "arg[0].raw.user.id": 0,
		"arg[0].null": 1, "arg[1].user.id": 0, "arg[1].user.n": 0, "arg[1].user.list[*]": 0, "arg[1].m.k": 0, "arg[2].k": 0, "arg[3]": 0, "arg[3][*?]": 0, "arg[0].items[*?].count": 0, "arg[4]": 0, "arg[5].id": 0,
		`header["X-Tenant"]`: 0, "query.uid": 0, "cookie.sid": 0, "method": 0, "body.user.id": 0, "body.user.name": 1, "header.x-tenant + method": 1, "arg[0].Customer.ID + query.uid": 1,
	}
}

func TestHotPathsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	call, cases := hotCases()
	for path, most := range cases {
		p, err := extractor.Compile(path, extractor.Options{})
		require.NoError(t, err)
		var list extractor.List
		allocs := testing.AllocsPerRun(100, func() {
			list.Reset()
			if err := p.Extract(call, &list); err != nil || list.Len() == 0 {
				panic(fmt.Sprint(path, list.Len(), err))
			}
		})
		require.LessOrEqual(t, allocs, float64(most), path)
	}
	var sum uint64
	var redacted extractor.Value
	require.Zero(t, testing.AllocsPerRun(100, func() { sum += extractor.Text("user-0123456789").Hash(extractor.SeedOf(1)) }))
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { redacted = extractor.Text("user-0123456789").Redacted(extractor.SeedOf(sum)) }), 1.0)
	require.NotZero(t, redacted)
}

// What does not fit, and bodies sent in bad faith, cost no memory either.
func TestRefusedExtractionsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for path, call := range map[string]*extractor.Call{"arg[0].none": {Args: []any{anOrder()}}, "body.x": bodyCall(`{"x":`), "header.x": {}} {
		p, err := extractor.Compile(path, extractor.Options{})
		require.NoError(t, err)
		var list extractor.List
		_ = p.Extract(call, &list)
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = p.Extract(call, &list) }), path)
	}
}
