package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cordon-go/cordon/cmd/cordon/internal/trial"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sim/scenario"
)

// simReport is what came of a scenario.
type simReport struct {
	file   *scenario.File
	trials []trial.Trial
	events bool
}

// simRows is how many instances a table shows.
const simRows = 40

// print writes the report for people: a row for each policy, a table of the instances, and the events if they are asked for.
func (r *simReport) print(w io.Writer) error {
	s := &r.file.Scenario
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s, %s", s.Name, rule.DurationText(s.Length), count(len(s.Instances), "instance"), count(len(s.Clients), "client"))
	if r.file.Seeds == 1 {
		fmt.Fprintf(&b, "; seed %d\n\n", s.Seed)
	} else {
		fmt.Fprintf(&b, "; %d runs of each policy, seeds %d to %d\n\n", r.file.Seeds, s.Seed, s.Seed+uint64(r.file.Seeds)-1)
	}
	r.policies(&b)
	b.WriteString("\n")
	if len(r.trials) == 1 {
		r.instances(&b)
	} else {
		r.shares(&b)
	}
	if r.events {
		for i := range r.trials {
			r.decisions(&b, &r.trials[i])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rows writes rows of cells in columns, the first on the left and all others on the right.
func rows(b *strings.Builder, table [][]string) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	first := 0
	for _, cells := range table {
		first = max(first, len([]rune(cells[0])))
	}
	for _, cells := range table {
		fmt.Fprintf(t, "%-*s\t%s\t\n", first, cells[0], strings.Join(cells[1:], "\t"))
	}
	t.Flush() // a strings.Builder does not fail
}

// policies writes a row for each policy. Columns that are 0 for all are left out where they are no answer to what one came for.
func (r *simReport) policies(b *strings.Builder) {
	refused, empty := false, false
	for i := range r.trials {
		c := &r.trials[i].Figures.Counts
		refused = refused || c.Blocked > 0
		empty = empty || c.NoInstance > 0
	}
	head := []string{"policy", "calls", "failed"}
	if refused {
		head = append(head, "refused")
	}
	if empty {
		head = append(head, "no instance")
	}
	table := [][]string{append(head, "found", "found after", "calls to sick", "quarantines", "false", "fallbacks", "back after")}
	for i := range r.trials {
		f := &r.trials[i].Figures
		c := &f.Counts
		row := []string{r.trials[i].Policy, strconv.FormatInt(c.Calls, 10), percent(c.FailedShare())}
		if refused {
			row = append(row, percent(ratio(c.Blocked, c.Calls)))
		}
		if empty {
			row = append(row, percent(ratio(c.NoInstance, c.Calls)))
		}
		table = append(table, append(row, fmt.Sprintf("%d of %d", f.Found, f.Illnesses), spread(f.FoundAfter, took), spread(f.ToSick, calls),
			strconv.Itoa(f.Quarantines), strconv.Itoa(f.False), strconv.Itoa(f.Fallbacks), spread(f.BackAfter, took)))
	}
	rows(b, table)
}

// instances writes a row for each instance, for one policy.
func (r *simReport) instances(b *strings.Builder) {
	regions := r.regions()
	table := [][]string{r.first(regions, "calls", "share", "failed", "probes", "quarantines", "false")}
	list := r.trials[0].Figures.Instances
	for i := range list[:min(len(list), simRows)] {
		in := &list[i]
		table = append(table, r.instance(i, regions, strconv.FormatInt(in.Tries, 10), percent(in.Share), strconv.FormatInt(in.Failures, 10),
			strconv.FormatInt(in.Probes, 10), strconv.Itoa(in.Quarantines), strconv.Itoa(in.False)))
	}
	rows(b, table)
	r.more(b)
}

// shares writes which share of the calls each instance got under each policy.
func (r *simReport) shares(b *strings.Builder) {
	regions := r.regions()
	names := make([]string, len(r.trials))
	for i := range names {
		names[i] = r.trials[i].Policy
	}
	table := [][]string{r.first(regions, names...)}
	for i := range r.file.Scenario.Instances[:min(len(r.file.Scenario.Instances), simRows)] {
		cells := make([]string, len(r.trials))
		for j := range cells {
			cells[j] = percent(r.trials[j].Figures.Instances[i].Share)
		}
		table = append(table, r.instance(i, regions, cells...))
	}
	b.WriteString("share of calls by instance\n")
	rows(b, table)
	r.more(b)
}

func (r *simReport) regions() bool {
	for i := range r.file.Scenario.Instances {
		if r.file.Scenario.Instances[i].Region != "" {
			return true
		}
	}
	return false
}

func (r *simReport) first(regions bool, cells ...string) []string {
	if regions {
		return append([]string{"instance", "region"}, cells...)
	}
	return append([]string{"instance"}, cells...)
}

func (r *simReport) instance(i int, regions bool, cells ...string) []string {
	in := &r.file.Scenario.Instances[i]
	if regions {
		return append([]string{in.Address, in.Region}, cells...)
	}
	return append([]string{in.Address}, cells...)
}

// more says how many instances the table does not show.
func (r *simReport) more(b *strings.Builder) {
	if n := len(r.file.Scenario.Instances) - simRows; n > 0 {
		fmt.Fprintf(b, "… and %d more, which --json has\n", n)
	}
}

// decisions writes what was decided about instances in the first run.
func (r *simReport) decisions(b *strings.Builder, t *trial.Trial) {
	fmt.Fprintf(b, "\nevents with %s, seed %d\n", t.Policy, t.First.Scenario.Seed)
	if len(t.First.Events) == 0 {
		b.WriteString("none\n")
		return
	}
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for i := range t.First.Events {
		e := &t.First.Events[i]
		who := e.Address
		switch {
		case who == "":
			who = "–"
		case e.Instance < 0:
			who = "region " + who
		}
		kind := e.Kind.String()
		if e.Shadow {
			kind += " (shadow)"
		}
		line := fmt.Sprintf("%s\t%s\t%s\t%s\t%s", seconds(e.At), t.First.Clients[e.Client].Name, who, kind, e.Reason)
		fmt.Fprintln(table, strings.TrimRight(line, "\t"))
	}
	table.Flush() // a strings.Builder does not fail
}

// spread writes the median and the worst of an ascending list.
func spread[T any](list []T, text func(T) string) string {
	middle, ok := trial.Middle(list)
	if !ok {
		return "–"
	}
	worst := list[len(list)-1]
	if len(list) == 1 {
		return text(worst)
	}
	return text(middle) + " / " + text(worst)
}

// took writes a time in two or three digits, as one that was exceeded if it is.
func took(t trial.Took) string {
	unit := 100 * time.Millisecond
	switch {
	case t.After < time.Second:
		unit = 10 * time.Millisecond
	case t.After >= time.Minute:
		unit = time.Second
	}
	text := rule.DurationText(t.After.Round(unit))
	if t.Over {
		return "> " + text
	}
	return text
}

func calls(n int64) string { return strconv.FormatInt(n, 10) }

// seconds writes a time of the scenario to the millisecond, all with as many digits behind the point.
func seconds(t time.Duration) string {
	return strconv.FormatFloat(t.Seconds(), 'f', 3, 64) + "s"
}

func ratio(n, all int64) float64 {
	if all == 0 {
		return 0
	}
	return float64(n) / float64(all)
}

// percent writes a share with two digits that count, or more.
func percent(share float64) string {
	p := 100 * share
	switch {
	case p == 0:
		return "0 %"
	case p < .1:
		return strconv.FormatFloat(p, 'f', 3, 64) + " %"
	case p < 10:
		return strconv.FormatFloat(p, 'f', 2, 64) + " %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
