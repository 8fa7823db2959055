package main

import (
	"os"
	"regexp"
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

// The rules that the demo shows, here and in the documentation, can be pasted into a document.
func TestTheDocumentationShowsRulesThatCanBePasted(t *testing.T) {
	for path, rules := range map[string]int{"../../docs/cli.md": 5, "../../README.md": 2} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		requirePastable(t, string(text), rules)
	}
}

// requirePastable finds so many rules in what the demo prints, each a line, and reads them as documents.
func requirePastable(t *testing.T, shown string, rules int) {
	t.Helper()
	lines := regexp.MustCompile(`(?m)^   (flow|concurrency|breaker|isolation|param): .*$`).FindAllString(shown, -1)
	require.Len(t, lines, rules)
	for _, line := range lines {
		r := runCordon(t, "cordon: 1\n"+strings.TrimSpace(line)+"\n", "check", "-")
		require.Equal(t, exitGood, r.code, "%s: %s%s", line, r.out, r.err)
	}
}
