package paramflow

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
	r.about(&b)
	of := "value"
	if r.Param != "" {
		of = r.Param
	}
	if r.Only != (rule.Match{}) {
		of += " matching " + r.Only.String()
	}
	fmt.Fprintf(&b, "for each %s %s", of, r.terms(r.Limit, r.Burst))
	if n := len(r.Overrides); n > 0 {
		b.WriteString("; " + strconv.Itoa(n) + " with a limit of their own")
	}
	if r.Absent == Count {
		b.WriteString("; calls without it count as one value")
	}
	return b.String()
}

// terms says what one value may do.
func (r Rule) terms(limit float64, burst int) string {
	switch {
	case limit == 0:
		return "no calls, all are refused"
	case r.Mode == Concurrency:
		return fmt.Sprintf("at most %s at once, the rest is refused", number(limit))
	case r.Mode == Pace:
		distance := time.Duration(float64(r.Per) / limit)
		return fmt.Sprintf("one call every %s, %s", text(distance), r.patience())
	}
	return fmt.Sprintf("at most %s %s per %s with bursts of %d, the rest is refused", number(limit), callNoun(limit), text(r.Per), burst)
}

func (r Rule) patience() string {
	if r.MaxWait == 0 {
		return "what comes earlier is refused"
	}
	s := fmt.Sprintf("what would wait longer than %s", text(r.MaxWait))
	if r.MaxQueue > 0 {
		s += fmt.Sprintf(", or with %d waiting already,", r.MaxQueue)
	}
	return s + " is refused"
}

// about writes whom the rule is for.
func (r Rule) about(b *strings.Builder) {
	if r.Resource != (rule.Match{}) {
		b.WriteString(r.Resource.String())
	}
	add := func(words string) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words)
	}
	switch r.Origin {
	case "":
	case "other":
		add("for each other caller")
	default:
		add("for " + r.Origin)
	}
	if r.Shadow {
		add("(in shadow)")
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
}

// text writes a duration for people.
func text(d time.Duration) string { return rule.DurationText(d) }

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func callNoun(n float64) string {
	if n == 1 {
		return "call"
	}
	return "calls"
}
