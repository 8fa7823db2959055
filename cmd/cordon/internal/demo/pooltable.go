package demo

import (
	"fmt"
	"strings"

	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/isolation"
)

// A poolRow is what the table shows of an instance: how the guarded caller sees it, and how often it fails both callers.
type poolRow struct {
	isolation.InstanceSnapshot
	// share is the instance's part of the guarded caller's calls of the last second.
	share float64
	// failed and failedPlain are failures a second, with the rule and without.
	failed, failedPlain int64
}

// A poolView is what the table shows of the pool.
type poolView struct {
	rows []poolRow
	// sent, failed and failedPlain are the sums of all instances a second.
	sent, failed, failedPlain int64
	// fallback is true while isolation has switched itself off.
	fallback bool
}

// viewPool returns the pool's view of now.
func (s *stage) viewPool() poolView {
	now := s.clock.Now()
	snapshot := s.stock.guarded.group.Snapshot(now)
	v := poolView{fallback: snapshot.Fallback}
	rates := make([]tally, len(snapshot.Instances))
	for i, instance := range snapshot.Instances {
		rates[i] = s.stock.guarded.rate(now, instance.Address)
		v.sent += rates[i].Sent
	}
	for i, instance := range snapshot.Instances {
		plain := s.stock.plain.rate(now, instance.Address)
		row := poolRow{InstanceSnapshot: instance, failed: rates[i].Failed + rates[i].Broken, failedPlain: plain.Failed + plain.Broken}
		if v.sent > 0 {
			row.share = float64(rates[i].Sent) / float64(v.sent)
		}
		v.rows = append(v.rows, row)
		v.failed += row.failed
		v.failedPlain += row.failedPlain
	}
	return v
}

// poolTable is the live table of the pool.
func (s *stage) poolTable() []string {
	v := s.viewPool()
	lines := []string{s.screen.Paint(screen.Dim, fmt.Sprintf("   %-8s %6s %*s %8s %12s  %s", "INSTANCE", "SHARE", barWidth+2, "", "FAILED", "WITHOUT RULE", "STATE"))}
	for _, r := range v.rows {
		style := screen.Green
		if r.State != isolation.InService {
			style = screen.Yellow
		}
		if r.failed > 0 {
			style = screen.Red
		}
		// The bar is full at half of all calls: even shares are a fifth.
		lines = append(lines, fmt.Sprintf("   %s %6s ▕%s▏ %8s %12s  %s",
			s.screen.Paint(screen.Bold, screen.Pad(r.Address, 8)), percent(r.share), s.screen.Paint(style, screen.Bar(r.share, .5, barWidth)),
			perSecond(r.failed), perSecond(r.failedPlain), s.standing(r.InstanceSnapshot)))
	}
	all := fmt.Sprintf("   %-8s %6s %*s %8s %12s", "all", perSecond(v.sent), barWidth+2, "", perSecond(v.failed), perSecond(v.failedPlain))
	if v.fallback {
		all += "  " + s.screen.Paint(screen.Red, "isolation is off")
	}
	return append(lines, all)
}

// standing says where an instance stands, and for how long.
func (s *stage) standing(i isolation.InstanceSnapshot) string {
	state := i.State.String()
	switch i.State {
	case isolation.InService:
		return s.screen.Paint(screen.Green, state)
	case isolation.Quarantined:
		return fmt.Sprintf("%s, %.1f s left", s.screen.Paint(screen.Red, state), i.Left.Seconds())
	case isolation.SlowStart:
		return fmt.Sprintf("%s, %.1f s left", s.screen.Paint(screen.Yellow, state), i.Left.Seconds())
	}
	return s.screen.Paint(screen.Yellow, state)
}

// poolLine is the pool's line where there is no live table: every instance's share of the calls, or why it has none.
func (s *stage) poolLine() string {
	v := s.viewPool()
	var cells []string
	for i, r := range v.rows {
		cell := percent(r.share)
		switch r.State {
		case isolation.Quarantined:
			cell = fmt.Sprintf("out %.1fs", r.Left.Seconds())
		case isolation.Probing:
			cell = "probed"
		case isolation.SlowStart:
			cell += " ↑"
		case isolation.Held:
			cell += " held"
		}
		cells = append(cells, fmt.Sprintf("%d: %-9s", i+1, cell))
	}
	line := fmt.Sprintf("%s  %s  %s failed, %s without the rule", poolName, strings.Join(cells, " "), perSecond(v.failed), perSecond(v.failedPlain))
	if v.fallback {
		line += "   isolation is off"
	}
	return line
}

// percent writes a share in whole percents.
func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }
