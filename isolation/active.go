package isolation

import (
	"context"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// Waiting appends to dst the addresses of the instances in quarantine whose wait an active check would shorten by now (see Checked), and returns it. Those that are
// out for no longer than the rule's Base anyhow are not among them.
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

// RunChecks checks the instances that Waiting names, one after the other, every so often (1ms at least), until ctx is done. check is asked whether the one at that address
// works; an answer without error shortens the wait as Checked says, and never more: only calls that succeed bring an instance back. A check's context is done after the pause
// between two rounds, and check must heed it: the next one waits for it. RunChecks starts no goroutine: it is to be called in one. It panics without a clock or a check.
func (g *Group) RunChecks(ctx context.Context, clk clock.Clock, every time.Duration, check func(ctx context.Context, address string) error) {
	if clk == nil || check == nil {
		panic("isolation: RunChecks: there is no clock, or no check; want the clock whose readings the group is given, and what asks an instance")
	}
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
