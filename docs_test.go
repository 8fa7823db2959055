package cordon

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What docs/param.md shows is in the examples, which run.
func TestParamPageShowsTheExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/param.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_param_test.go")
	require.NoError(t, err)
	samples := regexp.MustCompile("(?s)<!-- from example_param_test.go -->\n```(?:go|yaml)\n(.*?)```").FindAllSubmatch(page, -1)
	require.Len(t, samples, strings.Count(string(page), "```go")+strings.Count(string(page), "```yaml"))
	for _, sample := range samples {
		text := string(sample[1])
		indented := "\t\t" + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n\t\t"), "\t\t")
		once := strings.ReplaceAll(indented, "\t\t", "\t")
		require.True(t, strings.Contains(string(source), text) || strings.Contains(string(source), indented) || strings.Contains(string(source), once),
			"no example has\n%s", text)
	}
}
