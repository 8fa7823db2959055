package system

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// String describes the rule in one sentence for people, defaults included.
func (r Rule) String() string {
	var b strings.Builder
	b.WriteString("inbound calls")
	if r.Shadow {
		b.WriteString(" (in shadow)")
	}
	b.WriteString(": ")
	switch r.Metric {
	case Load:
		fmt.Fprintf(&b, "while the machine's load is above %s %s", number(r.Limit), r.consequence())
	case CPU:
		fmt.Fprintf(&b, "while more than %s%% of the CPU is in use %s", percent(r.Limit), r.consequence())
	case ResponseTime:
		fmt.Fprintf(&b, "all are refused while the mean response time of the last second is above %s", rule.DurationText(r.SlowerThan))
	case Concurrency:
		if r.Limit == 0 {
			b.WriteString("all are refused")
			break
		}
		fmt.Fprintf(&b, "at most %s at once in the whole process, the rest is refused", number(r.Limit))
	case Rate:
		n, per := perInterval(r.Limit)
		if n == 0 {
			b.WriteString("all are refused")
			break
		}
		fmt.Fprintf(&b, "at most %d in any %s in the whole process, the rest is refused", n, rule.DurationText(per.Round(time.Microsecond)))
	default:
		b.WriteString(r.Metric.String())
	}
	return b.String()
}

// consequence words what becomes of calls.
func (r Rule) consequence() string {
	if r.Admission == Refuse {
		return "all are refused"
	}
	return "no more are admitted than can be worked on without queueing"
}

func number(f float64) string {
	if size := math.Abs(f); f != 0 && (size < 1e-6 || size >= 1e15) {
		return strconv.FormatFloat(f, 'g', -1, 64) // no hundreds of zeros
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 6, 64) }
