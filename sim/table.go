package sim

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// WriteTable writes the result for people: the totals, a row for each instance, a row for each client if there are several, and how
// illnesses were found.
func (r *Result) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	put := func(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) } // errors come out of Flush
	c := &r.Totals
	fmt.Fprintf(w, "%s, %v, seed %d: %d calls, %d failed (%s)", r.Policy, r.Scenario.Length, r.Scenario.Seed, c.Calls, c.Failed, percent(c.FailedShare()))
	for _, part := range []struct {
		n    int64
		what string
	}{{c.Blocked, "blocked"}, {c.NoInstance, "without an instance"}, {c.Retries, "retries"}, {c.Timeouts, "timeouts"}} {
		if part.n > 0 {
			fmt.Fprintf(w, ", %d %s", part.n, part.what)
		}
	}
	fmt.Fprint(w, "\n\n")
	put("instance\tcalls\tshare\tfailed\tprobes\tquarantines\tfalse\t")
	for i := range r.Instances {
		in := &r.Instances[i]
		put("%s\t%d\t%s\t%d\t%d\t%d\t%d\t", in.Address, in.Tries, percent(in.Share), in.Failures, in.Probes, in.Quarantines, in.False)
	}
	if len(r.Clients) > 1 {
		put("\t\t\t\t\t\t\t\nclient\tcalls\t\tfailed\tprobes\tquarantines\tfallbacks\t")
		for i := range r.Clients {
			k := &r.Clients[i]
			put("%s\t%d\t\t%d\t%d\t%d\t%d\t", k.Name, k.Counts.Calls, k.Counts.Failed, k.Counts.Probes, k.Quarantines, k.Fallbacks)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.writeIllnesses(w)
}

// tableIllnesses is how many illnesses a table tells of.
const tableIllnesses = 20

func (r *Result) writeIllnesses(w io.Writer) error {
	if len(r.Illnesses) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "ill\tfrom\tuntil\tfound by\tafter\tcalls\t")
	for i := range r.Illnesses[:min(len(r.Illnesses), tableIllnesses)] {
		il := &r.Illnesses[i]
		by, worst := 0, Find{}
		for _, f := range il.Found {
			if f.Found {
				by++
				worst.After, worst.Tries = max(worst.After, f.After), max(worst.Tries, f.Tries)
			}
		}
		until := "the end"
		if il.Until != Forever {
			until = il.Until.Round(time.Millisecond).String()
		}
		fmt.Fprintf(t, "%s\t%v\t%s\t%d of %d\t%v\t%d\t\n", r.Instances[il.Instance].Address, il.From.Round(time.Millisecond), until, by, len(il.Found),
			worst.After.Round(time.Millisecond), worst.Tries)
	}
	if more := len(r.Illnesses) - tableIllnesses; more > 0 {
		fmt.Fprintf(t, "\t\t%d more\t\t\t\t\n", more)
	}
	return t.Flush()
}

// percent writes a share with at least two digits that count.
func percent(share float64) string {
	switch p := 100 * share; {
	case p == 0:
		return "0 %"
	case p < .1:
		return fmt.Sprintf("%.3f %%", p)
	case p < 10:
		return fmt.Sprintf("%.2f %%", p)
	default:
		return fmt.Sprintf("%.1f %%", p)
	}
}
