package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/cordon-go/cordon/sim"
	"github.com/cordon-go/cordon/sim/worlds"
)

// title says what the worlds of a kind ask for.
func title(k worlds.Kind) string {
	switch k {
	case worlds.Go:
		return "Sick ones must go"
	case worlds.Stay:
		return "Well ones must stay"
	case worlds.Return:
		return "Cured ones must return"
	case worlds.Latch:
		return "Isolation must find back"
	}
	return "With latency, several clients, lists that change, capacity"
}

// legend says how cells are read.
func legend(seeds int) string {
	return fmt.Sprintf("Median/worst of %d seeds; false quarantines: the sum over the seeds. In brackets: false quarantines (sum) in worlds that are about something else. "+
		"†: calls found no instance.", seeds)
}

// text writes a cell of a world.
func (c *cell) text(w *worlds.World) string {
	var b strings.Builder
	switch {
	case w.Shows == worlds.False:
		fmt.Fprintf(&b, "%.0f", c.sum)
	case math.IsInf(c.median, 0):
		b.WriteString("never")
	default:
		fmt.Fprintf(&b, "%s/%s", short(c.median), short(c.worst))
	}
	if w.Shows != worlds.False && c.falseOnes > 0 {
		fmt.Fprintf(&b, " (%d)", c.falseOnes)
	}
	if c.noInstance {
		b.WriteString(" †")
	}
	return b.String()
}

// short writes a number with two digits that count, or all before the point.
func short(x float64) string {
	switch {
	case math.IsInf(x, 0):
		return "never"
	case x == 0:
		return "0"
	case x < .1:
		return fmt.Sprintf("%.3f", x)
	case x < 1:
		return fmt.Sprintf("%.2f", x)
	case x < 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

func writeMarkdown(w io.Writer, rows []row, policies []sim.Policy, seeds int) {
	fmt.Fprintf(w, "\n%s\n", legend(seeds))
	last := -1
	for i := range rows {
		r := &rows[i]
		if k := int(r.world.Kind); k != last {
			last = k
			fmt.Fprintf(w, "\n**%s**\n\n| world | | figure |", title(r.world.Kind))
			for _, p := range policies {
				fmt.Fprintf(w, " %s |", p)
			}
			fmt.Fprintf(w, "\n|---|---|---|%s\n", strings.Repeat("---|", len(policies)))
		}
		fmt.Fprintf(w, "| %s | %s | %s |", r.world.Name, r.world.About, r.world.Shows)
		for p := range policies {
			fmt.Fprintf(w, " %s |", r.cells[p].text(&r.world))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

func writeText(w io.Writer, rows []row, policies []sim.Policy, seeds int) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	last := -1
	for i := range rows {
		r := &rows[i]
		if k := int(r.world.Kind); k != last {
			last = k
			fmt.Fprintf(t, "%s\t\t", title(r.world.Kind))
			for _, p := range policies {
				fmt.Fprintf(t, "%s\t", p)
			}
			fmt.Fprintln(t)
		}
		fmt.Fprintf(t, "  %s: %s\t%s\t", r.world.Name, r.world.About, r.world.Shows)
		for p := range policies {
			fmt.Fprintf(t, "%s\t", r.cells[p].text(&r.world))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	fmt.Fprintf(w, "\n%s\n", legend(seeds))
}
