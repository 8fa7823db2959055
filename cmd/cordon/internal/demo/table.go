package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
)

// How often the table is redrawn, and by how much less than a second a second may be for its rates.
const (
	tick      = 200 * time.Millisecond
	tickSlack = tick / 4
)

// A meter keeps a service's tallies of the last second or so. It belongs to the goroutine that shows the table.
type meter struct {
	samples []sample
}

type sample struct {
	at    time.Duration
	tally tally
}

// rate adds a sample and returns how many calls a second there were of each kind over about the last second.
func (m *meter) rate(now time.Duration, t tally) tally {
	m.samples = append(m.samples, sample{now, t})
	// Measure from the sample that is a second old, give or take a tick that came early.
	for len(m.samples) > 2 && now-m.samples[1].at >= time.Second-tickSlack {
		m.samples = m.samples[1:]
	}
	first := m.samples[0]
	if now <= first.at {
		return tally{}
	}
	per := func(n int64) int64 { return int64(float64(n)/(now-first.at).Seconds() + 0.5) }
	d := t.minus(first.tally)
	return tally{
		Sent: per(d.Sent), OK: per(d.OK), Failed: per(d.Failed),
		Limited: per(d.Limited), Refused: per(d.Refused), Broken: per(d.Broken),
	}
}

// show redraws the table five times a second on a terminal, or writes a line a second otherwise, until ctx is done.
func (s *stage) show(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		snapshot := s.front.engine.Snapshot()
		lines := []string{""}
		if s.stock.guarded.load.perSecond.Load() > 0 {
			if s.screen.Live() {
				lines = append(lines, s.poolTable()...)
			} else if n%5 == 0 {
				s.say("%s", s.poolLine())
			}
		}
		header := len(lines)
		for _, service := range s.services() {
			rate := service.meter.rate(s.clock.Now(), service.load.tally())
			if service.load.perSecond.Load() == 0 {
				continue
			}
			if s.screen.Live() {
				if len(lines) == header {
					lines = append(lines, s.header())
				}
				lines = append(lines, s.row(service, rate, snapshot))
			} else if n%5 == 0 {
				s.say("%s", s.line(service, rate, snapshot))
			}
		}
		s.screen.Draw(lines...)
	}
}

// barWidth is how wide the bar of a row is: what gets through against what is sent.
const barWidth = 12

// header names the columns of the rows. All in all they are 80 wide.
func (s *stage) header() string {
	return s.screen.Paint(screen.Dim, fmt.Sprintf("   %-7s %6s %*s %7s %7s %7s  %s", "SERVICE", "SENT", barWidth+2, "", "THROUGH", "REFUSED", "FAILED", "RULE"))
}

// row is a service's line in the live table.
func (s *stage) row(service *service, rate tally, snapshot cordon.Snapshot) string {
	style := screen.Green
	if rate.Failed > 0 {
		style = screen.Red
	}
	through := rate.OK + rate.Failed
	return fmt.Sprintf("   %s %6s ▕%s▏ %7s %7s %7s  %s",
		s.screen.Paint(screen.Bold, screen.Pad(service.name, 7)),
		perSecond(rate.Sent),
		s.screen.Paint(style, screen.Bar(float64(through), float64(rate.Sent), barWidth)),
		perSecond(through), perSecond(rate.Limited+rate.Refused), perSecond(rate.Failed+rate.Broken),
		s.state(service, snapshot))
}

// line is a service's line where there is no live table.
func (s *stage) line(service *service, rate tally, snapshot cordon.Snapshot) string {
	text := fmt.Sprintf("%-7s %6s sent %6s through %6s refused", service.name,
		perSecond(rate.Sent), perSecond(rate.OK+rate.Failed), perSecond(rate.Limited+rate.Refused))
	if failed := rate.Failed + rate.Broken; failed > 0 {
		text += fmt.Sprintf(" %6s failed", perSecond(failed))
	}
	return text + "   " + s.state(service, snapshot)
}

func perSecond(n int64) string { return fmt.Sprintf("%d/s", n) }

// state says how the service's rule stands.
func (s *stage) state(service *service, snapshot cordon.Snapshot) string {
	at := slices.IndexFunc(snapshot.Resources, func(r cordon.ResourceSnapshot) bool { return r.Name == service.name })
	if at < 0 {
		return ""
	}
	for _, r := range snapshot.Resources[at].Rules {
		switch r.Kind {
		case cordon.KindFlow.String():
			now := s.clock.Now()
			last := len(between(s.journal.admitted(service.name), now-time.Second, now))
			if float64(last) > r.Limit { // it was lowered less than a second ago
				return fmt.Sprintf("%d last second, now %.0f", last, r.Limit)
			}
			return fmt.Sprintf("%d of %.0f last second", last, r.Limit)
		case cordon.KindParam.String():
			return fmt.Sprintf("%.0f/s each, %d users", r.Limit, r.Param.Values)
		case cordon.KindConcurrency.String():
			inFlight, _ := service.busy()
			return fmt.Sprintf("%d of %.0f at once", inFlight, r.Limit)
		case cordon.KindBreaker.String():
			if r.RetryIn > 0 {
				return fmt.Sprintf("%s, probes in %.1f s", s.paintState(r.State), r.RetryIn.Seconds())
			}
			return s.paintState(r.State)
		}
	}
	return ""
}

func (s *stage) paintState(state string) string {
	switch state {
	case breaker.Closed.String():
		return s.screen.Paint(screen.Green, state)
	case breaker.Open.String(), breaker.ForcedOpen.String():
		return s.screen.Paint(screen.Red, state)
	default:
		return s.screen.Paint(screen.Yellow, state)
	}
}
