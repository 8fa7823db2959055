package sentinel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/sentinel"
)

// manyRules is a document of n rules as Java's dashboard writes them.
func manyRules(n int) []byte {
	rules := make([]string, n)
	for i := range rules {
		rules[i] = fmt.Sprintf(`{"id":%d,"app":"shop","ip":"10.0.0.1","port":8719,"limitApp":"default","resource":"GET:/orders/%d","grade":1,"count":%d.0,`+
			`"strategy":0,"controlBehavior":0,"warmUpPeriodSec":10,"maxQueueingTimeMs":500,"clusterMode":false,"regex":false}`, i+1, i, i%100+1)
	}
	return []byte("[" + strings.Join(rules, ",\n") + "]")
}

func BenchmarkDecode10000(b *testing.B) {
	data := manyRules(10_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		doc, err := sentinel.Decode(sentinel.Flow, "doc", data)
		if err != nil || len(doc.Problems) > 0 {
			b.Fatal(err, doc.Problems)
		}
	}
}

func TestManyRules(t *testing.T) {
	t.Parallel()
	doc, err := sentinel.Decode(sentinel.Flow, "doc", manyRules(2_000))
	require.NoError(t, err)
	require.Empty(t, doc.Problems)
	require.Len(t, doc.Rules().Flow, 2_000)
}
