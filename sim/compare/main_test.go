package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// compare runs the command.
func compare(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(args, &out)
	return out.String(), err
}

func TestTables(t *testing.T) {
	t.Parallel()
	text, err := compare(t, "-world", "S7,S5e", "-seeds", "3")
	require.NoError(t, err)
	for _, want := range []string{
		"Sick ones must go", "Well ones must stay", "cordon", "Envoy", "A50", "Finagle", "consecutive", "never", "Median/worst of 3 seeds",
	} {
		require.Contains(t, text, want)
	}
	markdown, err := compare(t, "-world", "S7,S5e", "-seeds", "3", "-markdown")
	require.NoError(t, err)
	for _, line := range strings.Split(markdown, "\n") {
		if strings.HasPrefix(line, "|") {
			require.Equal(t, 9, strings.Count(line, "|"), line)
		}
	}
	again, err := compare(t, "-world", "S7,S5e", "-seeds", "3", "-markdown")
	require.NoError(t, err)
	require.Equal(t, markdown, again, "the same seeds come out the same, however the work is shared out")
	other, err := compare(t, "-world", "S7,S5e", "-seeds", "3", "-first", "50", "-markdown")
	require.NoError(t, err)
	require.NotEqual(t, markdown, other)

	// In S5e all fail for a time: whoever takes one out is wrong.
	row := strings.Split(markdown[strings.Index(markdown, "| S5e |"):], "|")
	require.Equal(t, "0", strings.TrimSpace(row[4]), "cordon")
	require.NotEqual(t, "0", strings.TrimSpace(row[7]), "Finagle")
}

func TestWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "guide.md")
	require.NoError(t, os.WriteFile(path, []byte("before\n"+begin+"\nold\n"+end+"\nafter\n"), 0o600))
	out, err := compare(t, "-world", "S5e", "-seeds", "1", "-write", path)
	require.NoError(t, err)
	require.Empty(t, out)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "before\n"+begin+"\n"))
	require.True(t, strings.HasSuffix(string(text), "\n"+end+"\nafter\n"))
	require.NotContains(t, string(text), "old")
	require.Contains(t, string(text), "| S5e |")
	_, err = compare(t, "-world", "S5e", "-seeds", "1", "-write", path)
	require.NoError(t, err)
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for want, args := range map[string][]string{
		`there is no world "S99"; want one of S1, `: {"-world", "S1,S99"},
		"-seeds 0: want 1 to 1000":                  {"-seeds", "0"},
		`"S1": want flags only`:                     {"S1"},
		"no such file":                              {"-write", filepath.Join(dir, "none.md")},
		"no line " + begin:                          {"-write", file("a.md", "text")},
		"no line " + end + " after":                 {"-write", file("b.md", end+"\n"+begin)},
	} {
		_, err := compare(t, args...)
		require.ErrorContains(t, err, want)
	}
}

func TestShortNumbers(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]float64{"0": 0, "0.012": .0123, "0.12": .1234, "1.2": 1.234, "12": 12.34, "1234": 1234.4} {
		require.Equal(t, want, short(x))
	}
}
