package isolation

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cordon-go/cordon/rule"
)

// String describes the rule in one sentence for people, defaults included.
func (r Rule) String() string {
	r = r.WithDefaults()
	var b strings.Builder
	if r.ID != "" {
		b.WriteString(r.ID + ": ")
	}
	if r.Shadow {
		b.WriteString("(in shadow) ")
	}
	b.WriteString("takes instances ")
	if r.Service != (rule.Match{}) {
		b.WriteString("of " + r.Service.String() + " ")
	}
	fmt.Fprintf(&b, "out of service %s, for %s", r.criteria(), rule.DurationText(r.Base))
	if r.Max > r.Base {
		b.WriteString(", doubling up to " + rule.DurationText(r.Max))
	}
	fmt.Fprintf(&b, "; at most %s of them at once", percent(r.MaxShare))
	if !r.MayEmpty {
		b.WriteString(", and never the last")
	}
	probes := "1 good probe"
	if r.Probes > 1 {
		probes = strconv.Itoa(r.Probes) + " good probes"
	}
	fmt.Fprintf(&b, "; lets them in again after %s, over %s", probes, rule.DurationText(r.SlowStart))
	if !r.NoFallback {
		fmt.Fprintf(&b, "; puts all in service while more than %s are sick", percent(r.FallbackAt))
	}
	return b.String()
}

// criteria says which instances are sick by a rule that has its defaults set.
func (r Rule) criteria() string {
	var list []string
	if !r.AbsoluteOnly {
		list = append(list, fmt.Sprintf("that fail %s points more often than their peers, and at %s times their odds",
			number(r.MinGap*100), number(r.MinRatio)))
	}
	if r.MinSuccessRate > 0 {
		list = append(list, fmt.Sprintf("that succeed in less than %s of at least %d calls in %s", percent(r.MinSuccessRate), r.MinCalls, rule.DurationText(r.Window)))
	}
	if r.LocalErrors > 0 {
		list = append(list, fmt.Sprintf("that %d calls in a row do not reach", r.LocalErrors))
	}
	return strings.Join(list, ", or ")
}

// percent writes a share to four digits: 0.5 is "50%".
func percent(share float64) string { return number(share*100) + "%" }

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
