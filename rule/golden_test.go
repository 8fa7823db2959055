package rule

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocuments reads every document in testdata/documents and compares what comes of it, good or bad, with the golden file beside it. With
// UPDATE_GOLDEN=1 it writes them: read the difference before you keep it (faults #64, #94: every fault is named by place and
// field, and the good rules are told from the bad).
func TestDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/documents/*")
	require.NoError(t, err)
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		seen++
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			got := outcome(filepath.Base(file), data)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(file+".golden", []byte(got), 0o644))
			}
			want, err := os.ReadFile(file + ".golden")
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
	require.Greater(t, seen, 40)
}

// outcome describes what a document was read as: the error, or the rules, with the problems.
func outcome(source string, data []byte) string {
	parse := ParseYAML
	if strings.HasSuffix(source, ".json") {
		parse = func(data []byte) (*Node, error) { return ParseJSON(data, ParseOptions{}) }
	}
	n, err := parse(data)
	if err != nil {
		p := err.(Problem)
		p.Source = source
		return p.Error() + "\n"
	}
	rules, bad, problems := DecodeList[limitRule](n.Field("flow"), "flow", source)
	var b strings.Builder
	for i, r := range rules {
		fmt.Fprintf(&b, "bad=%v %+v\n", bad[i], r)
	}
	if rules == nil {
		b.Write(n.YAML())
	}
	if len(problems) > 0 {
		b.WriteString(problems.Error() + "\n")
	}
	return b.String()
}
