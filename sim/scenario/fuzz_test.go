package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
)

// Whatever a document says, it is either refused with problems that name it, or a scenario that the kit finds nothing wrong with.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/faults/*.[yj]*", "../../examples/sim/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	rules, err := os.ReadFile("testdata/rules.yaml")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("doc", data, func(string) ([]byte, error) { return rules, nil })
		if err != nil {
			var list rule.Problems
			require.True(t, errors.As(err, &list), "%v", err)
			require.NotEmpty(t, list)
			for _, p := range list {
				require.NotEmpty(t, p.Source)
				require.NotEmpty(t, p.Message)
				require.False(t, p.Warning)
			}
			return
		}
		require.NoError(t, file.Scenario.Validate())
		require.NotEmpty(t, file.Policies)
		require.Positive(t, file.Seeds)
	})
}
