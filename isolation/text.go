package isolation

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// String describes the rule in one sentence for people, defaults included. Then come the preset, if it is another than the default one, and the fields with other values than
// the preset's of which the sentence does not speak.
func (r Rule) String() string {
	edits := r.edits()
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
	if r.MaxShare < 1 {
		b.WriteString(", rounded up")
	}
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
	if len(edits) > 0 {
		b.WriteString("; " + strings.Join(edits, ", "))
	}
	return b.String()
}

// edits names what differs from the preset's values and is not in the sentence, as documents write it.
func (r Rule) edits() []string {
	var edits []string
	if r.Preset != Default {
		edits = append(edits, "preset "+r.Preset.String())
	}
	inSentence := []string{"id", "service", "preset", "shadow", "base", "max", "maxShare", "mayEmpty", "probes", "slowStart", "noFallback",
		"minSuccessRate", "window", "minCalls", "localErrors", "absoluteOnly"}
	if !r.AbsoluteOnly {
		inSentence = append(inSentence, "minGap", "minRatio")
	}
	if !r.NoFallback {
		inSentence = append(inSentence, "fallbackAt")
	}
	is := reflect.ValueOf(r.WithDefaults())
	for i := range is.NumField() {
		name := is.Type().Field(i).Tag.Get("rule")
		if slices.Contains(inSentence, name) {
			continue
		}
		without := r
		reflect.ValueOf(&without).Elem().Field(i).SetZero()
		v := is.Field(i)
		if v.Equal(reflect.ValueOf(without.WithDefaults()).Field(i)) {
			continue
		}
		switch v := v.Interface().(type) {
		case bool:
			edits = append(edits, name)
		case time.Duration:
			edits = append(edits, name+" "+rule.DurationText(v))
		case float64:
			edits = append(edits, name+" "+strconv.FormatFloat(v, 'f', -1, 64))
		default:
			edits = append(edits, fmt.Sprintf("%s %v", name, v))
		}
	}
	return edits
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
