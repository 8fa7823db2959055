package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/scripts/nacosserver"
)

// The rules commands on the real server: what is pushed is there at once for who reads it next, and for who watches; what others store in between is neither overwritten nor hidden.
func TestRulesOnARealServer(t *testing.T) {
	server := realNacos(t)
	p := &pushes{t: t, history: filepath.Join(t.TempDir(), "history"), terminal: true}
	document := nacosserver.Document{Group: nacos.SentinelGroup, DataID: "shop-flow-rules"}
	address := "nacos://" + server.Address() + "/public/SENTINEL_GROUP/shop-flow-rules"
	list := func(limit string) string { return `[{"resource": "r", "count": ` + limit + `}]` }
	push := func(text string, args ...string) result {
		return p.run("", append([]string{"push", "--yes", "--history", p.history, p.file("new.json", text), address}, args...)...)
	}
	pulled := func() string {
		r := p.run("", "pull", address)
		require.Equal(t, exitGood, r.code, r.err)
		return r.out
	}
	require.Equal(t, exitMisuse, p.run("", "pull", address).code)
	for _, limit := range []string{"1", "2", "3"} {
		r := push(list(limit))
		require.Equal(t, exitGood, r.code, r.err)
		require.Equal(t, list(limit), pulled())
	}
	require.Equal(t, exitBad, push(list("-1")).code)
	require.Equal(t, exitBad, push("cordon: 1\n").code)
	require.Equal(t, list("3"), pulled())

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs log
	code := make(chan int)
	go func() { code <- p.on(ctx, streams{in: strings.NewReader(""), out: &out, err: &errs}, "watch", address) }()
	shows := func(text string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(out.String(), text) }, time.Minute, time.Millisecond, "%s%s", &out, &errs)
	}
	shows("at most 3 calls")
	require.Equal(t, exitGood, push(list("4")).code)
	shows("limit is raised from 3 to 4")
	require.NoError(t, server.Publish(t.Context(), document, list("-5")))
	shows("-5 is too small")
	require.NoError(t, server.Publish(t.Context(), document, list("6")))
	shows("limit is raised from 4 to 6")

	settled := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool {
			text, _, err := server.Read(t.Context(), document)
			return err == nil && text == want
		}, time.Minute, 50*time.Millisecond)
	}
	settled(list("6"))
	var pushOut, pushErr bytes.Buffer
	between := &meddler{before: func() {
		require.NoError(t, server.Publish(t.Context(), document, list("7")))
		settled(list("7"))
	}}
	got := p.on(t.Context(), streams{in: between, out: &pushOut, err: &pushErr}, "push", "--history", p.history, p.file("new.json", list("8")), address)
	require.Equal(t, exitBad, got, pushErr.String())
	require.Contains(t, pushOut.String(), "limit is raised from 6 to 8")
	_, meanwhile, ok := strings.Cut(pushOut.String(), "meanwhile somebody else has changed it")
	require.True(t, ok)
	require.Contains(t, meanwhile, "limit is raised from 6 to 7")
	require.Equal(t, list("7"), pulled())

	r := p.run("", "push", "--yes", "--history", p.history, "--version", "1", address)
	require.Equal(t, exitGood, r.code, r.err)
	require.Equal(t, list("1"), pulled())
	shows("limit is lowered from 7 to 1")
	cancel()
	require.Equal(t, exitGood, <-code, errs.String())

	require.NoError(t, server.Kill())
	r = push(list("9"))
	require.Equal(t, exitMisuse, r.code)
	require.Contains(t, r.err, "no connection")
	require.NoError(t, server.Start())
	require.Equal(t, list("1"), pulled())
}
