package extractor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzPath compiles anything. What compiles is the same when it is compiled from its own text, and from its steps written anew; what does not says where in the text.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"arg[0].order.customer.id", "arg[-1]", "arg[0][*?].id", "arg[0].items[*].sku", `header["X-Tenant"] + method`, "query.uid", "body.user['a\\u00e9'].id", "uid+client.ip", "arg[ 0 ]", `meta["\n\"\\"]`, "arg[0].ä-b"} {
		f.Add(s)
	}
	named := map[string]Extractor{"uid": Func(func(*Call) (Value, bool) { return Int(1), true })}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := Compile(path, Options{Named: named})
		if err != nil {
			var fault *SyntaxError
			require.ErrorAs(t, err, &fault)
			require.LessOrEqual(t, fault.Offset, len(path))
			require.NotEmpty(t, err.Error())
			return
		}
		require.Equal(t, path, p.String())
		var again []string
		for _, term := range p.terms {
			again = append(again, term.describe(len(term.steps)))
		}
		q, err := parse(strings.Join(again, " + "), named)
		require.NoError(t, err, again)
		require.Len(t, q, len(p.terms))
		for i, term := range p.terms {
			require.Equal(t, term.root, q[i].root)
			require.Equal(t, term.steps, q[i].steps)
			require.Equal(t, term.key, q[i].key)
		}
		var list List
		_ = p.Extract(&Call{Args: []any{map[string]any{"order": 1}}}, &list)
	})
}
