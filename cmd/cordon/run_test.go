package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// cordon runs the command line with the given standard input.
func runCordon(t *testing.T, in string, args ...string) result {
	t.Helper()
	return runUntil(t, t.Context(), in, args...)
}

func runUntil(t *testing.T, ctx context.Context, in string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	args = append([]string{}, args...) // cobra takes nil for the program's own arguments, which are the test's
	code := run(ctx, args, streams{in: strings.NewReader(in), out: &out, err: &err})
	return result{code, out.String(), err.String()}
}

// golden compares what a command did with testdata/name.golden.
func (r result) golden(t *testing.T, name string) {
	t.Helper()
	got := fmt.Sprintf("exit %d\n-- out --\n%s-- err --\n%s", r.code, r.out, r.err)
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestMisuseEndsWithTwoAndSaysHowToUse(t *testing.T) {
	for _, c := range []struct {
		args []string
		err  string
	}{
		{[]string{"nosuch"}, `unknown command "nosuch"`},
		{[]string{"demo", "now"}, `unknown command "now" for "cordon demo"`},
		{[]string{"demo", "--fast"}, "unknown flag: --fast; see cordon demo --help"},
		{[]string{"check"}, "0 arguments given; want cordon check FILE..."},
		{[]string{"top", "--interval", "1ms"}, "--interval is 1ms, want at least 100ms"},
		{[]string{"top", "--admin", "ftp://x"}, "want host:port"},
	} {
		r := runCordon(t, "", c.args...)
		require.Equal(t, exitMisuse, r.code, "%v: %s", c.args, r.err)
		require.Contains(t, r.err, c.err)
		require.Empty(t, r.out)
	}
}

func TestHelpOfEveryCommand(t *testing.T) {
	root := newRoot(streams{})
	require.NotEmpty(t, root.Commands())
	for _, cmd := range root.Commands() {
		require.NotEmpty(t, cmd.Short, cmd.Name())
		r := runCordon(t, "", cmd.Name(), "--help")
		require.Equal(t, exitGood, r.code, r.err)
		require.Contains(t, r.out, "Usage:\n  cordon "+cmd.Name())
	}
	require.Equal(t, exitGood, runCordon(t, "").code)
	require.Contains(t, runCordon(t, "").out, "demo")
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		r := runCordon(t, "", "completion", shell)
		require.Equal(t, exitGood, r.code)
		require.Contains(t, r.out, "cordon")
	}
}

func TestBadKeepsItsCause(t *testing.T) {
	cause := errors.New("cause")
	require.ErrorIs(t, bad{cause}, errBad)
	require.ErrorIs(t, bad{cause}, cause)
	require.EqualError(t, bad{cause}, "cause")
}
