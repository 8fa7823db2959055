package isolation

import (
	"context"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// Waiting appends the addresses of the instances in quarantine to dst and returns it: those whose wait an active check may shorten (see Checked).
func (g *Group) Waiting(now time.Duration, dst []string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	base := g.params.Load().rule.Base
	for _, m := range g.list {
		if m.shown() == Quarantined && m.until > max(now, m.since+base) {
			dst = append(dst, m.Address())
		}
	}
	return dst
}

// RunChecks checks the instances in quarantine, one after the other, every so often (1ms at least), until ctx is done. check is asked whether the one at that address works;
// an answer without error shortens the wait as Checked says, and never more: only calls that succeed bring an instance back. Each check may take as
// long as the pause between two rounds. RunChecks starts no goroutine: it is to be called in one.
func (g *Group) RunChecks(ctx context.Context, clk clock.Clock, every time.Duration, check func(ctx context.Context, address string) error) {
	every = max(every, time.Millisecond)
	var waiting []string
	for {
		timer := clk.NewTimer(every)
		waiting = g.Waiting(clk.Now(), waiting[:0])
		for _, address := range waiting {
			if ctx.Err() != nil {
				break
			}
			checking, cancel := context.WithCancel(ctx)
			limit := clk.AfterFunc(every, cancel)
			if check(checking, address) == nil {
				g.Checked(clk.Now(), address)
			}
			limit.Stop()
			cancel()
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}
