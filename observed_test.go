package cordon_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// A refusal by a smooth rule tells of the burst, which is what was hit, in whole calls, whatever part of the newest one is earned back.
func TestSmoothRefusalsAreInCalls(t *testing.T) {
	for _, tt := range []struct{ burst, cost, observed int }{{0, 1, 1}, {1, 1, 1}, {3, 1, 3}, {3, 3, 1}, {3, 4, 0}} {
		clk := clock.NewManual()
		eng, err := cordon.New(cordon.WithClock(clk), cordon.WithRules(cordon.Rules{Flow: []flow.Rule{
			{ID: "s", Resource: rule.Name("r"), Mode: flow.Smooth, Limit: 1, Burst: tt.burst},
		}}))
		require.NoError(t, err)
		defer eng.Close()
		for range tt.observed {
			call, err := eng.Enter(context.Background(), cordon.Request{Resource: "r"})
			require.NoError(t, err)
			call.Exit(nil)
		}
		clk.Advance(852 * time.Millisecond)
		_, err = eng.Enter(context.Background(), cordon.Request{Resource: "r", Cost: tt.cost})
		var refused *cordon.BlockedError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, [2]float64{float64(max(tt.burst, 1)), float64(tt.observed)}, [2]float64{refused.Limit, refused.Observed}, "%v", err)
	}
}
