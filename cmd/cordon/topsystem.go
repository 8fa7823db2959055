package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/datasource"
)

// sourceLines tell how the sources of rules are, each in a line, but those that there is no document of.
func sourceLines(p *screen.Screen, sources []cordon.SourceSnapshot) []string {
	var lines, absent []string
	for _, s := range sources {
		if s.Absent || s.Updates == 0 && (s.LastError == "" || strings.Contains(s.LastError, datasource.ErrAbsent.Error())) {
			absent = append(absent, s.Source)
			continue
		}
		lines = append(lines, sourceLine(p, s))
	}
	if len(absent) > 0 {
		lines = append(lines, p.Paint(screen.Dim, "no document: "+strings.Join(absent, ", ")))
	}
	return lines
}

// sourceLine tells how a source of rules is.
func sourceLine(p *screen.Screen, s cordon.SourceSnapshot) string {
	line := fmt.Sprintf("%s: %d rules, version %s, %d updates", s.Source, s.Rules, orNone(s.Version), s.Updates)
	if s.Stale {
		line += p.Paint(screen.Yellow, "  STALE: kept on "+s.StaleSince.Format(time.DateTime)+", not confirmed since the start")
	}
	if s.Refused > 0 || s.Kept > 0 {
		line += p.Paint(screen.Yellow, fmt.Sprintf("  IN PART: %d refused, %d kept as they were: %s", s.Refused, s.Kept, oneLine(strings.TrimPrefix(strings.Join(s.Problems[:min(len(s.Problems), 1)], ""), s.Source+":"))))
	}
	if s.LastError != "" {
		line += p.Paint(screen.Red, "  FAILED: "+oneLine(strings.TrimPrefix(s.LastError, s.Source+": ")))
	}
	if s.LastGoodError != "" {
		line += p.Paint(screen.Red, "  NOT KEPT: "+oneLine(s.LastGoodError))
	}
	return line
}

// refusedLine tells how much was refused since the look before, by kinds of rules; nothing if nothing was, or it is not known.
func refusedLine(before, now cordon.Snapshot) []string {
	old := map[string]cordon.ResourceSnapshot{}
	for _, r := range before.Resources {
		old[r.Name] = r
	}
	elapsed := now.Time.Sub(before.Time)
	if before.Time.IsZero() || elapsed <= 0 {
		return nil
	}
	refused := map[string]int64{}
	for _, r := range now.Resources {
		for kind, n := range r.Blocked {
			refused[kind] += max(0, n-old[r.Name].Blocked[kind])
		}
	}
	kinds := slices.SortedFunc(maps.Keys(refused), func(a, b string) int {
		return cmp.Or(cmp.Compare(refused[b], refused[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, kind := range kinds {
		if n := refused[kind]; n > 0 {
			parts = append(parts, number(float64(n)/elapsed.Seconds())+" by "+kind)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"refused/s: " + strings.Join(parts, ", ")}
}

// systemLines tell how the process stands by the system rules; nothing if there are none.
func systemLines(p *screen.Screen, s *cordon.SystemSnapshot) []string {
	if s == nil {
		return nil
	}
	var figures []string
	if s.CPU != nil {
		figures = append(figures, fmt.Sprintf("CPU %.0f%%", 100**s.CPU))
	}
	if s.Load != nil {
		figures = append(figures, fmt.Sprintf("load %.2f", *s.Load))
	}
	figures = append(figures, fmt.Sprintf("%d in flight", s.InFlight), "responds in "+latency(s.ResponseTime))
	if s.Capacity > 0 {
		figures = append(figures, "can work on "+number(s.Capacity)+" at once")
	}
	lines := []string{"system: " + strings.Join(figures, ", ")}
	for _, r := range s.Rules {
		lines = append(lines, "  "+systemRule(p, r))
	}
	return lines
}

// systemRule says how a system rule stands.
func systemRule(p *screen.Screen, r cordon.SystemRuleSnapshot) string {
	observed := "–"
	if r.Observed != nil {
		observed = metric(r.Metric, *r.Observed)
	}
	text := fmt.Sprintf("%s: %s %s of %s", r.ID, r.Metric, observed, metric(r.Metric, r.Limit))
	if r.Refusing {
		text += "  " + p.Paint(screen.Red, "REFUSING")
	}
	if r.Blocked > 0 {
		text += fmt.Sprintf("  %d refused", r.Blocked)
	}
	if r.Shadow {
		text += fmt.Sprintf("  (shadow, %d would be refused)", r.Shadowed)
	}
	return text
}

// metric writes a figure of a system rule in the unit that people read it in.
func metric(name string, v float64) string {
	switch name {
	case "cpu":
		return fmt.Sprintf("%.0f%%", 100*v)
	case "responseTime":
		return latency(time.Duration(v * float64(time.Second)))
	case "load":
		return fmt.Sprintf("%.2f", v)
	}
	return number(v)
}
