package balance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
)

// Groups whose instances come and go for an hour, sick ones among them, take as much memory at the end as after a third of it, and never a goroutine (faults #44).
func TestMemoryStaysFlat(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	groups, size := 40, 50
	if os.Getenv("CORDON_SOAK") != "" {
		groups = 1000
	}
	goroutines := runtime.NumGoroutine()
	r := rand.New(rand.NewPCG(1, 2))
	type service struct {
		group *isolation.Group
		list  []isolation.Instance
		*Balancer
	}
	born := 0
	instance := func() isolation.Instance {
		born++
		return isolation.Instance{Address: fmt.Sprintf("10.%d.%d.%d:80", born>>16, born>>8&255, born&255), Region: []string{"eu", "us", "asia"}[born%3]}
	}
	services := make([]service, groups)
	for i := range services {
		g, err := isolation.NewGroup("orders", isolation.Config{Rule: &isolation.Rule{Preset: isolation.Quick, MinSuccessRate: .5, MinCalls: 3}, Seed: 1})
		require.NoError(t, err)
		b, err := New(g, Options{Region: "eu", Strategy: Strategy(i % 4), Seed: 1})
		require.NoError(t, err)
		services[i] = service{group: g, Balancer: b, list: make([]isolation.Instance, size)}
		for k := range services[i].list {
			services[i].list[k] = instance()
		}
		g.Update(0, services[i].list)
	}
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse)
	}
	settled, out := 0., int64(0)
	for now := time.Duration(0); now < time.Hour; now += 10 * time.Second {
		for i := range services {
			s := &services[i]
			s.list[r.IntN(size)] = instance()
			s.group.Update(now, s.list)
			for k := range 100 {
				at := now + time.Duration(k)*50*time.Millisecond
				c, err := s.Pick(at, Request{Hash: r.Uint64()})
				require.NoError(t, err)
				o := isolation.Success
				if c.Address()[len(c.Address())-4] == '1' {
					o = isolation.Failure
				}
				c.End(at, o)
			}
		}
		if now == 20*time.Minute {
			settled = heap()
		}
	}
	last := heap()
	for _, s := range services {
		out += s.group.Snapshot(time.Hour).Quarantines
	}
	t.Logf("%d instances in %d groups, %d that were, %d quarantines: %.1f MB after 20 minutes, %.1f after an hour", groups*size, groups, born, out, settled/1e6, last/1e6)
	require.Greater(t, out, int64(groups))
	require.Less(t, last, settled*1.1)
	require.Equal(t, goroutines, runtime.NumGoroutine())
	runtime.KeepAlive(services)
}
