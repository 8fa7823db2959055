package sentinel_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// find searches as sentinel-golang does.
func find(t testing.TB, expr, name string) bool {
	t.Helper()
	re, err := regexp.Compile(expr)
	require.NoError(t, err)
	return re.MatchString(name)
}
