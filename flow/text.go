package flow

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
	about(&b, r.Meta(), r.Origin, r.Under)
	if r.Memory != (Memory{}) {
		b.WriteString(r.Memory.sentence(r.Per))
		return b.String()
	}
	if r.Limit == 0 && r.Related == "" {
		b.WriteString("no calls, all are refused")
		return b.String()
	}
	rate := number(r.Limit) + " " + noun(r.Limit, "call")
	switch r.Mode {
	case Reject:
		if r.Related != "" {
			fmt.Fprintf(&b, "refused while %s passes more than %s in %s", r.Related, rate, text(r.Per))
			break
		}
		b.WriteString(r.window())
	case Smooth:
		fmt.Fprintf(&b, "at most %s per %s with bursts of %d, the rest is refused", rate, text(r.Per), r.Burst)
	case Pace:
		fmt.Fprintf(&b, "one call every %s, %s", r.distance(1), r.patience())
	case WarmUp:
		fmt.Fprintf(&b, "%s, a %s of that when cold, warming up in %s", r.window(), fraction(r.ColdFactor), text(r.WarmUp))
	case WarmUpPace:
		fmt.Fprintf(&b, "one call every %s, every %s when cold, warming up in %s, %s",
			r.distance(1), r.distance(r.ColdFactor), text(r.WarmUp), r.patience())
	}
	return b.String()
}

// window words the exact window: whole calls in any interval.
func (r Rule) window() string {
	n, per := whole(r.Limit, r.Per)
	return fmt.Sprintf("at most %d %s in any %s, the rest is refused", n, noun(float64(n), "call"), text(per))
}

// distance words the time between two calls when they are factor times rarer.
func (r Rule) distance(factor float64) string {
	return text(time.Duration(factor * float64(r.Per) / r.Limit))
}

func (r Rule) patience() string {
	if r.MaxWait == 0 {
		return "what comes earlier is refused"
	}
	return fmt.Sprintf("what would wait longer than %s is refused", text(r.MaxWait))
}

func (m Memory) sentence(per time.Duration) string {
	return fmt.Sprintf("at most %s calls in any %s up to %s of memory in use, falling to %s from %s on, the rest is refused",
		number(m.LowLimit), text(per), amount(m.LowMark), number(m.HighLimit), amount(m.HighMark))
}

// String describes the rule in one sentence for people, defaults included.
func (r ConcurrencyRule) String() string {
	r = r.withDefaults()
	var b strings.Builder
	about(&b, r.Meta(), r.Origin, r.Under)
	switch {
	case r.Limit == 0:
		b.WriteString("no calls, all are refused")
	case r.MaxWait == 0:
		fmt.Fprintf(&b, "at most %d at once, the rest is refused", r.Limit)
	default:
		fmt.Fprintf(&b, "at most %d at once, up to %d more wait at most %s", r.Limit, r.Queue, text(r.MaxWait))
	}
	return b.String()
}

// about writes whom a rule is for.
func about(b *strings.Builder, m rule.Meta, origin, under string) {
	if m.Resource != (rule.Match{}) {
		b.WriteString(m.Resource.String())
	}
	switch origin {
	case "":
	case "other":
		b.WriteString(" for each other caller")
	default:
		b.WriteString(" for " + origin)
	}
	if under != "" {
		b.WriteString(" under " + under)
	}
	if m.Shadow {
		b.WriteString(" (in shadow)")
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
}

// text writes a duration for people.
func text(d time.Duration) string { return rule.DurationText(d) }

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func noun(n float64, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// fraction words 1/f.
func fraction(f float64) string {
	switch f {
	case 2:
		return "half"
	case 3:
		return "third"
	case 4:
		return "quarter"
	}
	return number(f) + "th part"
}

// amount words a mark of memory: a share, or bytes.
func amount(mark float64) string {
	if mark <= 1 {
		return number(mark*100) + "%"
	}
	return number(mark) + " bytes"
}
