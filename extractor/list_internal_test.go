package extractor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing of a call is kept once the list is reset, or what was added is taken back (faults #93).
func TestListKeepsNothing(t *testing.T) {
	var l List
	for _, from := range []int{0, 3, 8, 12} {
		l.Reset()
		for i := range 20 {
			if i == from {
				l.cut(mark{n: l.n}) // takes nothing away
			}
			l.Add(Text(string(rune('a' + i))))
		}
		l.cut(mark{n: from})
		require.Equal(t, from, l.Len())
		for i := from; i < len(l.few); i++ {
			require.Zero(t, l.few[i])
		}
		for _, v := range l.more[len(l.more):cap(l.more)] {
			require.Zero(t, v)
		}
		require.Len(t, l.seen, len(l.more))
		l.Add(Text("t"))
		require.Equal(t, from+1, l.Len(), "what was taken away can come again")
	}
}
