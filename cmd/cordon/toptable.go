package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/gateway"
	"github.com/cordon-go/cordon/paramflow"
)

// rates are a resource's calls per second.
type rates struct{ passed, blocked, failed float64 }

// topEvents is how many events are shown.
const topEvents = 8

// topTable shows a gateway's status; rates come from what changed since the one before. Without one before (its time is zero), or for a resource
// that is new or whose totals went back because the gateway was restarted, only that of the calls is known, from the
// resource's recent window.
func topTable(p *screen.Screen, before, now gateway.Status) []string {
	known := map[string]cordon.ResourceSnapshot{}
	for _, r := range before.Engine.Resources {
		known[r.Name] = r
	}
	elapsed := now.Engine.Time.Sub(before.Engine.Time)
	rows := [][]string{{"RESOURCE", "PASSED/s", "REFUSED/s", "FAILED/s", "IN FLIGHT", "P50", "P99", "RULES"}}
	for _, r := range now.Engine.Resources {
		old, ok := known[r.Name]
		rate := recentRates(r)
		if ok && elapsed > 0 && r.Passed >= old.Passed {
			rate = ratesBetween(old, r, elapsed)
		}
		rows = append(rows, []string{
			r.Name, number(rate.passed), number(rate.blocked), number(rate.failed), fmt.Sprint(r.InFlight),
			latency(r.Recent.P50), latency(r.Recent.P99), ruleStates(p, r.Rules),
		})
	}
	resources := table(p, rows)
	if len(now.Engine.Resources) == 0 {
		resources = append(resources, p.Paint(screen.Dim, "no calls yet"))
	}
	return fit(p.Rows(), headLines(p, before, now), resources, serviceLines(p, now.Engine.Services), eventLines(p, now.Events))
}

// fit puts blocks of lines one below the other, shortened where a terminal of so many rows has no room for all; 0 is any number. The first block is
// shown whole, the others get equal parts of what is left, or less if they need less.
func fit(rows int, head []string, blocks ...[]string) []string {
	room, total := rows-1-len(head), 0 // one row for the cursor
	for _, b := range blocks {
		total += len(b)
	}
	if rows <= 0 || total <= room {
		return slices.Concat(append([][]string{head}, blocks...)...)
	}
	lines := head
	for i, most := range parts(max(room, 0), blocks) {
		b := blocks[i]
		if most > 0 && most < len(b) {
			b = append(b[:most-1:most-1], fmt.Sprintf("… %d more lines", len(b)-most+1))
		}
		lines = append(lines, b[:min(most, len(b))]...)
	}
	return lines[:min(len(lines), rows-1)]
}

// parts shares rows among blocks: equally, but none gets more than it has lines.
func parts(room int, blocks [][]string) []int {
	share := make([]int, len(blocks))
	for room > 0 {
		given := false
		for i, b := range blocks {
			if room > 0 && share[i] < len(b) {
				share[i]++
				room--
				given = true
			}
		}
		if !given {
			break
		}
	}
	return share
}

func ratesBetween(old, now cordon.ResourceSnapshot, elapsed time.Duration) rates {
	per := func(n int64) float64 { return max(0, float64(n)/elapsed.Seconds()) }
	return rates{
		passed:  per(now.Passed - old.Passed),
		blocked: per(total(now.Blocked) - total(old.Blocked)),
		failed:  per(now.Failed - old.Failed),
	}
}

func recentRates(r cordon.ResourceSnapshot) rates {
	if r.Recent.Length <= 0 {
		return rates{blocked: -1}
	}
	per := func(n int64) float64 { return float64(n) / r.Recent.Length.Seconds() }
	return rates{passed: per(r.Recent.Calls), blocked: -1, failed: -1}
}

func total(byKind map[string]int64) int64 {
	n := int64(0)
	for _, count := range byKind {
		n += count
	}
	return n
}

// headLines tells how the gateway, its rules and their sources are.
func headLines(p *screen.Screen, before, now gateway.Status) []string {
	engine := now.Engine
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(engine.Rules)) {
		if n := engine.Rules[kind]; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, kind))
		}
	}
	lines := []string{fmt.Sprintf("%s  %s, %d in flight  rules: %s",
		engine.Time.Format(time.DateTime), now.State, now.InFlight, orNone(strings.Join(kinds, ", ")))}
	lines = append(lines, sourceLines(p, engine.Sources)...)
	lines = append(lines, systemLines(p, engine.System)...)
	lines = append(lines, refusedLine(before.Engine, engine)...)
	for _, why := range now.NotReady {
		lines = append(lines, p.Paint(screen.Red, "not ready: "+oneLine(why)))
	}
	if engine.Faults > 0 {
		lines = append(lines, p.Paint(screen.Red, fmt.Sprintf("%d internal faults", engine.Faults)))
	}
	return append(lines, "")
}

// eventLines tells what happened last, newest first.
func eventLines(p *screen.Screen, events []gateway.Event) []string {
	if len(events) == 0 {
		return nil
	}
	lines := []string{"", p.Paint(screen.Dim, "EVENTS, newest first")}
	for _, e := range events[:min(len(events), topEvents)] {
		line := fmt.Sprintf("%s  %s", e.Time.Format(time.TimeOnly), screen.Pad(e.What, 7))
		if e.Resource != "" {
			line += " " + ofGroup(e.Resource, e.Route) + ":"
		}
		line += " " + oneLine(e.Text)
		if e.Origin != "" && e.Kind == cordon.KindAuthority.String() {
			line += " (from " + strconv.Quote(shownValue(e.Origin)) + ")"
		}
		if e.Count > 1 {
			line += fmt.Sprintf(" (%d times)", e.Count)
		}
		if e.Shadow {
			line += " (shadow)"
		}
		lines = append(lines, line)
	}
	return lines
}

// ruleStates says how a resource's rules stand: what a limit is used, what a breaker does. Rules of several kinds with one id, which mostly nobody chose, are told apart by their kinds.
func ruleStates(p *screen.Screen, states []cordon.RuleSnapshot) string {
	kinds := map[string]string{}
	several := map[string]bool{}
	for _, r := range states {
		if kind, ok := kinds[r.ID]; ok && kind != r.Kind {
			several[r.ID] = true
		}
		kinds[r.ID] = r.Kind
	}
	var parts []string
	for _, r := range states {
		name := r.ID
		if several[r.ID] {
			name = r.Kind + " " + r.ID
		}
		parts = append(parts, name+" "+ruleState(p, r))
	}
	return strings.Join(parts, ", ")
}

// ruleState says how one rule stands.
func ruleState(p *screen.Screen, r cordon.RuleSnapshot) string {
	text := number(r.Usage) + "/" + number(r.Limit)
	if r.State != "" {
		text = breakerState(p, r)
	}
	if r.Param != nil {
		text = valueStates(p, r)
	}
	if r.Kind == cordon.KindAuthority.String() {
		text = fmt.Sprintf("%d refused", r.Blocked)
	}
	if r.Queued > 0 {
		text += fmt.Sprintf(" (%d wait)", r.Queued)
	}
	if r.Shadow {
		text += " (shadow)"
	}
	return text
}

// topRefused is how many values are shown of a rule that refuses some.
const topRefused = 3

// valueStates says how a rule on values stands: the limit of each, and which of the hottest are refused most.
func valueStates(p *screen.Screen, r cordon.RuleSnapshot) string {
	text := number(r.Limit) + " each"
	if r.Usage > 0 {
		text += fmt.Sprintf(", %s in flight", number(r.Usage))
	}
	refused := slices.DeleteFunc(slices.Clone(r.Param.Top), func(v paramflow.TopValue) bool { return v.Refused == 0 })
	slices.SortStableFunc(refused, func(a, b paramflow.TopValue) int { return cmp.Compare(b.Refused, a.Refused) })
	var hot []string
	for _, v := range refused[:min(len(refused), topRefused)] {
		hot = append(hot, fmt.Sprintf("%s refused %d of %d", shownValue(v.Value), v.Refused, v.Passed+v.Refused))
	}
	if len(hot) > 0 {
		text += " [" + p.Paint(screen.Yellow, strings.Join(hot, ", ")) + "]"
	}
	if r.Param.Crowded {
		text += " " + p.Paint(screen.Red, "crowded")
	}
	return text
}

// longestValue is how many characters of a value are shown.
const longestValue = 40

// shownValue is a value for a terminal, which callers choose: nothing in it can move the cursor or colour the screen.
func shownValue(v string) string {
	runes := []rune(strings.ToValidUTF8(v, "\uFFFD"))
	if len(runes) > longestValue {
		runes = append(runes[:longestValue:longestValue], '…')
	}
	for i, c := range runes {
		if !unicode.IsPrint(c) {
			runes[i] = '\uFFFD'
		}
	}
	return string(runes)
}

func breakerState(p *screen.Screen, r cordon.RuleSnapshot) string {
	style := screen.Yellow
	switch r.State {
	case "closed":
		style = screen.Green
	case "open", "forcedOpen":
		style = screen.Red
	}
	text := p.Paint(style, r.State)
	if r.RetryIn > 0 {
		text += fmt.Sprintf(" for %.1fs", r.RetryIn.Seconds())
	}
	return text
}

// table lays rows out in columns, the first row as its header: the first column, the last and those named to the left, for they are texts, and numbers
// to the right.
func table(p *screen.Screen, rows [][]string, texts ...int) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], screen.Columns(cell))
		}
	}
	var lines []string
	for n, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = screen.PadLeft(cell, widths[i])
			if i == 0 || i == len(row)-1 || slices.Contains(texts, i) {
				cells[i] = screen.Pad(cell, widths[i])
			}
		}
		line := strings.TrimRight(strings.Join(cells, "  "), " ")
		if n == 0 {
			line = p.Paint(screen.Dim, line)
		}
		lines = append(lines, line)
	}
	return lines
}

// number is a figure with one decimal where it is small and has one; "–" when negative, for not known.
func number(f float64) string {
	switch {
	case f < 0:
		return "–"
	case f < 100 && f != float64(int64(f)):
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.0f", f)
	}
}

// latency is a duration for a narrow column; "–" when there is none yet.
func latency(d time.Duration) string {
	switch {
	case d <= 0:
		return "–"
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	default:
		return d.Round(10 * time.Millisecond).String()
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// oneLine joins the lines of a text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
