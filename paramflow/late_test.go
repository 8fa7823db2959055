package paramflow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A call of before that is given back late, by a reading that is older than that of a call after it, does not bring that one back.
func TestLateCancel(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 10, Burst: 1}, 0)
	p, _, _, ok := l.Acquire(0, value("a"), 1)
	require.True(t, ok)
	require.Equal(t, 1, passes(l, ms(100), "a", 1))
	l.Cancel(ms(50), p)
	require.Zero(t, passes(l, ms(150), "a", 1))
	require.Equal(t, 1, passes(l, ms(200), "a", 1))
}

// What was given back for one call is not given back again for another that stood behind it.
func TestCancelTwoOfOneBurst(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 10, Burst: 10}, 0)
	five, _, _, ok := l.Acquire(0, value("a"), 5)
	require.True(t, ok)
	one, _, _, ok := l.Acquire(0, value("a"), 1)
	require.True(t, ok)
	l.Cancel(0, five)
	require.Equal(t, 1, passes(l, ms(500), "a", 1))
	l.Cancel(ms(500), one) // earned back long ago
	require.Equal(t, 9, passes(l, ms(500), "a", 20))
}

// A cell that is over is given away, and a caller whose reading is older still finds what was in it.
func TestCellGivenAway(t *testing.T) {
	t.Parallel()
	c := cells{lines: make([]line, 2)}
	const tag = 12345
	require.GreaterOrEqual(t, c.set(tag, -1, 100, 0, 0), 0)
	for other := uint32(1); c.find(tag) >= 0; other++ {
		c.set(other<<8, c.find(other<<8), 1000, 100, 0)
	}
	at, cell := c.until(tag)
	require.Negative(t, cell)
	require.GreaterOrEqual(t, at, int64(100))
}

// A reading from before an edit is refused where the past that it knows of was over when the rule was edited.
func TestReadingFromBeforeAnEdit(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 10, Burst: 8}, 0)
	require.Equal(t, 8, passes(l, 0, "a", 10))
	mustUpdate(t, l, Rule{Limit: 1, Per: time.Hour, Burst: 8}, ms(800))
	_, _, after, ok := l.Acquire(ms(300), value("a"), 1)
	require.False(t, ok)
	require.Equal(t, ms(500), after)
	require.Equal(t, 8, passes(l, ms(800), "a", 10))
}

// Of two patterns that fit the first decides, the longer one or the shorter.
func TestFirstPatternDecides(t *testing.T) {
	t.Parallel()
	short, long := Override{Wildcard: "ab*", Limit: 2}, Override{Wildcard: "abc*", Limit: 3}
	require.Equal(t, 2.0, newTestLimiter(t, Rule{Limit: 1, Overrides: []Override{short, long}}, 0).Limit(value("abcd")))
	require.Equal(t, 3.0, newTestLimiter(t, Rule{Limit: 1, Overrides: []Override{long, short}}, 0).Limit(value("abcd")))
}
