package cordon

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/clock"
)

// Groups of one service are told apart by their names: in snapshots, in events and in the log.
func TestGroupsHaveNames(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var told []string
	clk := clock.NewManual()
	e, err := New(WithClock(clk), WithLogger(slog.New(slog.NewTextHandler(&log, nil))), WithObserver(Observer{Isolation: func(ev IsolationEvent) {
		told = append(told, ev.Service+"/"+ev.Group)
	}}))
	require.NoError(t, err)
	defer e.Close()
	for _, name := range []string{"read", "write"} {
		g := e.NewNamedGroup("orders", name)
		require.Equal(t, name, g.Name())
		g.Update(clk.Now(), lettered(2))
	}
	require.Empty(t, e.NewGroup("orders").Name())
	services := e.Snapshot().Services
	require.Equal(t, []string{"read", "write", ""}, []string{services[0].Group, services[1].Group, services[2].Group})
	require.NoError(t, e.Groups()[1].Pin(clk.Now(), "a", false, 0))
	require.Equal(t, []string{"orders/write"}, told)
	require.Contains(t, log.String(), "group=write")
}
