package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The samples of docs/cli.md that begin with "$ cordon" are run in testdata, and show what comes out: errors first, as on a terminal.
func TestTheDocumentationShowsRealOutput(t *testing.T) {
	const path = "../../docs/cli.md"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	t.Chdir("testdata")
	samples := strings.Split(string(text), "```console\n")[1:]
	require.GreaterOrEqual(t, len(samples), 5)
	for _, sample := range samples {
		sample, _, _ = strings.Cut(sample, "```")
		command, want, _ := strings.Cut(sample, "\n")
		args, ok := strings.CutPrefix(command, "$ cordon ")
		require.True(t, ok, command)
		r := runCordon(t, "", strings.Fields(args)...)
		require.Equal(t, strings.TrimSpace(want), strings.TrimSpace(r.err+r.out), command)
	}
}
