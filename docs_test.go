package cordon

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What docs/param.md shows is in the examples, which run.
func TestParamPageShowsTheExamples(t *testing.T) {
	t.Parallel()
	showsExamples(t, "docs/param.md", "example_param_test.go")
}

// What docs/system.md shows is in the examples, which run.
func TestSystemPageShowsTheExamples(t *testing.T) {
	t.Parallel()
	showsExamples(t, "docs/system.md", "example_system_test.go")
}

// What docs/authority.md shows is in the examples, which run.
func TestAuthorityPageShowsTheExamples(t *testing.T) {
	t.Parallel()
	showsExamples(t, "docs/authority.md", "example_authority_test.go")
}

// showsExamples holds that the documents on a page are good, and that its code is in a file of examples.
func showsExamples(t *testing.T, name, examples string) {
	page, err := os.ReadFile(name)
	require.NoError(t, err)
	source, err := os.ReadFile(examples)
	require.NoError(t, err)
	samples := regexp.MustCompile("(?s)<!-- from "+regexp.QuoteMeta(examples)+" -->\n```(?:go|yaml)\n(.*?)```").FindAllSubmatch(page, -1)
	require.Equal(t, strings.Count(string(page), "```go"), strings.Count(string(bytes.Join(marked(samples), nil)), "```go"), "all code is from an example")
	documents := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	require.NotEmpty(t, documents)
	for _, document := range documents {
		text := document[1]
		if !bytes.HasPrefix(text, []byte("cordon:")) { // a part of one
			text = append([]byte("cordon: 1\n"), text...)
		}
		decoded, err := Native(name, text)
		require.NoError(t, err)
		require.Empty(t, decoded.Problems, "%s", text)
	}
	for _, sample := range samples {
		text := string(sample[1])
		indented := "\t\t" + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n\t\t"), "\t\t")
		once := strings.ReplaceAll(indented, "\t\t", "\t")
		require.True(t, strings.Contains(string(source), text) || strings.Contains(string(source), indented) || strings.Contains(string(source), once),
			"no example has\n%s", text)
	}
}

// marked returns the samples with what marks them.
func marked(samples [][][]byte) (all [][]byte) {
	for _, s := range samples {
		all = append(all, s[0])
	}
	return all
}
