package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The demo is the first thing that people run: it must hold on any machine, however slow and busy. It sees from outside what faults #6, #11, #27, #29, #38,
// #41, #45, #47, #51, #54, #57, #62, #63 and #64 are about.
func TestDemoHoldsAndIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 40 s")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out log
	var errs bytes.Buffer
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(out.String())
		}
	})
	code := make(chan int, 1)
	started := time.Now()
	go func() { code <- run(ctx, []string{"demo", "--keep"}, streams{out: &out, err: &errs}) }()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "until you press Ctrl-C") }, time.Minute, 20*time.Millisecond)
	require.Less(t, time.Since(started), 45*time.Second)
	shown := out.String()
	require.NotContains(t, shown, "✗")
	require.Regexp(t, `All \d+ promises held\.`, shown)
	require.NotContains(t, shown, "\x1b", "no control sequences where there is no terminal")
	for chapter := '1'; chapter <= '8'; chapter++ {
		require.Contains(t, shown, "   ✓ "+string(chapter)+"  ")
	}

	requirePastable(t, shown, 5)

	useWhatIsKept(t, &out)
	cancel()
	require.Equal(t, exitGood, <-code, errs.String())
	require.Empty(t, errs.String())
}

// useWhatIsKept does what the demo suggests at its end.
func useWhatIsKept(t *testing.T, out *log) {
	t.Helper()
	shown := out.String()
	suggested := func(what string) string {
		match := regexp.MustCompile(what + `\s+(\S+)\n`).FindStringSubmatch(shown)
		require.NotNil(t, match, what)
		return match[1]
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	response, err := client.Get(suggested(`curl -i`))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())

	r := runCordon(t, "", "top", "--once", "--admin", suggested(`top --admin`))
	require.Equal(t, exitGood, r.code, r.err)
	for _, name := range []string{"search", "pay", "report", "cart", "serving", "stock-3"} {
		require.Contains(t, r.out, name)
	}

	response, err = client.Post(suggested(`break  curl -X POST`), "", nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Eventually(t, func() bool {
		return strings.Contains(strings.TrimPrefix(out.String(), shown), "stock-3 quarantined for")
	},
		10*time.Second, 20*time.Millisecond, out)

	file := suggested(`edit`)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, bytes.ReplaceAll(text, []byte("limit: 200"), []byte("limit: 150")), 0o644))
	require.Eventually(t, func() bool { return strings.Contains(strings.TrimPrefix(out.String(), shown), "1 changed") },
		10*time.Second, 20*time.Millisecond, out)
}

// A demo that is interrupted has shown nothing.
func TestDemoInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := runUntil(t, ctx, "", "demo")
	require.Equal(t, exitBad, r.code)
	require.Equal(t, "cordon: interrupted before the end\n", r.err)
}
