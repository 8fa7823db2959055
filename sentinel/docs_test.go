package sentinel

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documented returns the keys that stand in the first columns of the tables, by the heading of their section.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("../docs/sentinel.md")
	require.NoError(t, err)
	keys := make(map[string][]string)
	section := ""
	word := regexp.MustCompile(`[A-Za-z]+`)
	for line := range strings.Lines(string(data)) {
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			section = strings.TrimSpace(heading)
		} else if strings.HasPrefix(line, "## ") {
			section = ""
		}
		if cells := strings.Split(line, "|"); section != "" && len(cells) > 3 {
			keys[section] = append(keys[section], word.FindAllString(cells[1], -1)...)
		}
	}
	return keys
}

// TestKeysDocumented holds the document to the tables: every key that is known stands in the table of its kind and dialect, and no table has a key that is not known.
func TestKeysDocumented(t *testing.T) {
	t.Parallel()
	keys := documented(t)
	entities := keys["Entities of Java's dashboard"]
	for section, table := range map[string]struct {
		tables []keyTable
		owners []owner
	}{
		"Java flow rules":          {[]keyTable{flowKeys}, []owner{both, javaOnly}},
		"Go flow rules":            {[]keyTable{flowKeys}, []owner{both, goOnly}},
		"Java's clusterConfig":     {[]keyTable{clusterKeys}, []owner{javaOnly}},
		"Java degrade rules":       {[]keyTable{breakerKeys}, []owner{both, javaOnly, retired}},
		"Go circuit breaker rules": {[]keyTable{breakerKeys}, []owner{both, goOnly}},
		"Go isolation rules":       {[]keyTable{isolationKeys}, []owner{both, goOnly}},
		"Java param flow rules":    {[]keyTable{paramKeys}, []owner{both, javaOnly}},
		"Go hotspot rules":         {[]keyTable{paramKeys}, []owner{both, goOnly}},
		"Java system rules":        {[]keyTable{systemKeys}, []owner{both, javaOnly}},
		"Go system rules":          {[]keyTable{systemKeys}, []owner{both, goOnly, retired}},
		"Java authority rules":     {[]keyTable{authorityKeys}, []owner{both, javaOnly}},
		"Java gateway rules":       {[]keyTable{gatewayKeys, gatewayParamKeys}, []owner{both, javaOnly, entityOnly}},
		"Java API definitions":     {[]keyTable{apiKeys, predicateKeys}, []owner{both, javaOnly}},
		"Resources of Kubernetes":  {[]keyTable{crdFlowKeys, crdBreakerKeys, crdIsolationKeys, crdParamKeys, crdSystemKeys}, []owner{both, goOnly}},
	} {
		require.NotEmpty(t, keys[section], section)
		var known []string
		for _, all := range table.tables {
			for _, key := range all {
				if key.owner == entityOnly && slices.Contains(strings.Fields(entityKeys), key.name) {
					require.Contains(t, entities, key.name)
					continue
				}
				if slices.Contains(table.owners, key.owner) {
					known = append(known, key.name)
					require.Contains(t, keys[section], key.name, section)
				}
			}
		}
		known = append(known, strings.Fields("key cold factor of paramItem a predicate item")...) // words that are no keys
		for _, key := range keys[section] {
			require.Contains(t, known, key, section)
		}
		delete(keys, section)
	}
	delete(keys, "Entities of Java's dashboard")
	require.Empty(t, keys, "sections with tables that nothing is known of")
	data, err := os.ReadFile("../docs/sentinel.md")
	require.NoError(t, err)
	for _, items := range []keyTable{javaItemKeys, goItemKeys} {
		for _, key := range items {
			require.Contains(t, string(data), key.name)
		}
	}
}

// TestDialectsDocumented: the table of what tells the dialect is the one that is gone by.
func TestDialectsDocumented(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/sentinel.md")
	require.NoError(t, err)
	for _, kind := range []Kind{Flow, Breaker, Param, System} {
		rows := regexp.MustCompile("(?m)^\\| `"+kind.String()+"` \\|([^|]*)\\|([^|]*)\\|$").FindAllStringSubmatch(string(data), -1)
		require.Len(t, rows, 1, kind)
		var java, golang []string
		for _, key := range keysOf(kind) {
			switch key.owner {
			case javaOnly, entityOnly:
				java = append(java, key.name)
			case goOnly:
				golang = append(golang, key.name)
			}
		}
		word := regexp.MustCompile(`[A-Za-z]+`)
		require.ElementsMatch(t, java, word.FindAllString(rows[0][1], -1), kind)
		require.ElementsMatch(t, golang, word.FindAllString(rows[0][2], -1), kind)
	}
}

// TestSignatures: a key that is said to tell a kind is known to no other kind that is read, but for those that isolation documents may hold.
func TestSignatures(t *testing.T) {
	t.Parallel()
	for folded, s := range signatures {
		require.Equal(t, folded, fold(s.name))
		for kind := Flow; kind.Supported(); kind++ {
			if kind == Isolation {
				continue
			}
			_, known := keysOf(kind)[folded]
			require.Equal(t, kind == s.kind, known, "%s for %v", s.name, kind)
		}
	}
}
