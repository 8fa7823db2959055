package flow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMoves(t *testing.T) {
	t.Parallel()
	memory := Memory{LowLimit: 2, HighLimit: 1, LowMark: 0.5, HighMark: 0.9}
	for _, c := range []struct {
		rule  Rule
		moves bool
	}{
		{Rule{Limit: 1}, false},
		{Rule{Limit: 1, Mode: Smooth}, false},
		{Rule{Limit: 1, Mode: Pace, MaxWait: time.Second}, false},
		{Rule{Limit: 10, Mode: WarmUp}, true},
		{Rule{Limit: 10, Mode: WarmUpPace, MaxWait: time.Second}, true},
		{Rule{Memory: memory}, true},
	} {
		l, err := NewLimiter(c.rule, 0)
		require.NoError(t, err)
		require.Equal(t, c.moves, l.Moves(), "%+v", c.rule)
	}
}
