package sentinel

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKeysDocumented holds the document to the tables: every key that is known is told of.
func TestKeysDocumented(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/sentinel.md")
	require.NoError(t, err)
	words := make(map[string]bool)
	for _, word := range strings.FieldsFunc(string(data), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') }) {
		words[word] = true
	}
	for _, table := range []keyTable{flowKeys, breakerKeys, isolationKeys, paramKeys, javaItemKeys, goItemKeys} {
		for _, key := range table {
			if key.owner != retired {
				require.True(t, words[key.name], key.name)
			}
		}
	}
}

// TestSignatures: a key that is said to tell a kind is known to no other kind that is read, but for those that isolation documents may hold.
func TestSignatures(t *testing.T) {
	t.Parallel()
	for folded, s := range signatures {
		require.Equal(t, folded, fold(s.name))
		for _, kind := range []Kind{Flow, Breaker, Param} {
			_, known := keysOf(kind)[folded]
			require.Equal(t, kind == s.kind, known, "%s for %v", s.name, kind)
		}
	}
}
