package isolation

import (
	"fmt"
	"time"
)

// fallback is the time in which isolation has switched itself off.
type fallback struct {
	since, reviewAt time.Duration
	// recent holds the counts at the last review, before those at the one before it.
	recent, before map[*Member]counts
}

// startFallback puts all back in service.
func (g *Group) startFallback(now time.Duration, sick int, why string) {
	r := &g.params.Load().rule
	g.fallbacks++
	g.fallback = &fallback{since: now, reviewAt: now + g.holding.next(now, r)}
	g.muted.Store(true)
	for _, m := range g.list {
		g.recover(now, m)
	}
	g.fallback.before = g.countsNow()
	g.fallback.recent = g.fallback.before
	g.event(Event{Kind: EventFallbackOn, At: now, Reason: why, Sick: sick, Instances: g.counted.instances})
}

func (g *Group) countsNow() map[*Member]counts {
	all := make(map[*Member]counts, len(g.list))
	for _, m := range g.list {
		all[m] = m.read()
	}
	return all
}

// reviewFallback ends the fallback if few enough fail.
func (g *Group) reviewFallback(now time.Duration) {
	f, p := g.fallback, g.params.Load()
	if f == nil || now < f.reviewAt {
		return
	}
	failing := 0
	for _, m := range g.list {
		if !m.listed.Load().Drained && f.fails(m, p.rule.FallbackRate) {
			failing++
		}
	}
	if float64(failing) <= p.rule.FallbackAt*float64(p.instances)+1e-9 {
		g.endFallback(now, fmt.Sprintf("%d of %d instances fail, no more than %s", failing, p.instances, percent(p.rule.FallbackAt)))
		return
	}
	f.before, f.recent = f.recent, g.countsNow()
	f.reviewAt = now + p.rule.FallbackHold
}

// fails reports whether an instance fails: by its last few results, or by those of twice that time where they are too few.
func (f *fallback) fails(m *Member, most float64) bool {
	const enough = 3
	now := m.read()
	calls, fails := now.since(f.recent[m])
	if calls < enough {
		calls, fails = now.since(f.before[m])
	}
	return calls > 0 && rate(fails, calls) >= most
}

// endFallback switches isolation on again.
func (g *Group) endFallback(now time.Duration, why string) {
	since := g.fallback.since
	g.fallback = nil
	g.holding.ended = now
	g.muted.Store(false)
	for _, m := range g.list {
		m.good = now
		g.setGate(now, m) // what was counted meanwhile proves nothing
	}
	g.event(Event{Kind: EventFallbackOff, At: now, Reason: fmt.Sprintf("after %v: %s", (now - since).Round(10*time.Millisecond), why)})
}
