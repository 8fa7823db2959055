package breaker

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// String describes the rule in one sentence for people, defaults included.
func (r Rule) String() string {
	r = r.withDefaults()
	var b strings.Builder
	if r.ID != "" {
		b.WriteString(r.ID + ": ")
	}
	if r.Shadow {
		b.WriteString("(in shadow) ")
	}
	b.WriteString("refuses calls ")
	if r.Resource != (rule.Match{}) {
		b.WriteString("to " + r.Resource.String() + " ")
	}
	b.WriteString("for " + text(r.Open))
	if r.MaxOpen > r.Open {
		b.WriteString(", doubling up to " + text(r.MaxOpen) + ",")
	}
	if r.Jitter > 0 {
		b.WriteString(" ±" + percent(r.Jitter))
	}
	fmt.Fprintf(&b, " when %s; closes after %s", r.condition(), plural(r.Successes, "good probe"))
	if r.Probes > 1 {
		fmt.Fprintf(&b, ", %d at a time", r.Probes)
	}
	return b.String()
}

// condition says what opens a breaker of the rule, which has its defaults set.
func (r Rule) condition() string {
	bad := "fail"
	if r.Trip == SlowRatio {
		bad = "take longer than " + text(r.SlowerThan)
	}
	among := fmt.Sprintf(" in %s", text(r.Window))
	if r.MinCalls > 1 {
		among = fmt.Sprintf(" of at least %d in %s", r.MinCalls, text(r.Window))
	}
	switch r.Trip {
	case Consecutive:
		return r.bound() + " calls in a row fail"
	case ErrorCount:
		return r.bound() + " calls" + among + " " + bad
	}
	return r.bound() + " of the calls" + among + " " + bad
}

// bound words the threshold: "at least 50%", "more than 5".
func (r Rule) bound() string {
	word := "at least "
	if r.Above && !r.opensAtOne() {
		word = "more than "
	}
	if r.Trip.ratio() {
		return word + percent(r.Threshold)
	}
	return word + strconv.FormatFloat(r.Threshold, 'f', -1, 64)
}

// opensAtOne tells the one strict comparison that holds at equality: see Rule.Above.
func (r Rule) opensAtOne() bool { return r.Trip == SlowRatio && r.Threshold == 1 }

// percent writes a share to four digits: 0.5 is "50%".
func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 4, 64) + "%" }

// text writes a duration for people, and whole numbers as they are.
func text[T int | time.Duration](v T) string {
	d, ok := any(v).(time.Duration)
	if !ok {
		return fmt.Sprint(v)
	}
	return rule.DurationText(d)
}

func plural[T int | int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
