package isolation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func instances(n int) []Instance {
	list := make([]Instance, n)
	for i := range list {
		list[i].Address = fmt.Sprintf("10.0.0.%d:80", i)
	}
	return list
}

func TestSmoke(t *testing.T) {
	g, err := NewGroup("s", Config{Rule: &Rule{}, Seed: 1, OnEvent: func(e Event) { t.Log(e.At, e.Kind, e.Address, e.Reason, e.Strikes, e.Until) }})
	require.NoError(t, err)
	g.Update(0, instances(5))
	now := time.Duration(0)
	served := map[string]int{}
	turn := 0
	for range 6000 {
		now += 10 * time.Millisecond
		v := g.View(now)
		for {
			turn++
			m := v.Candidates[turn%len(v.Candidates)].Member
			c, ok := m.Begin(now)
			if !ok {
				continue
			}
			served[m.Address()]++
			o := Success
			if m.Address() == "10.0.0.0:80" && now < 30*time.Second {
				o = Failure
			}
			c.End(now, o)
			break
		}
	}
	t.Log(served, fmt.Sprintf("%+v", g.Snapshot(now)))
}
