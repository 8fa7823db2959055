package rulediff

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// fields says what becomes of the named fields between two rules of one kind.
func fields(before, after any, names []string) []Field {
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	var list []Field
	for i := range a.NumField() {
		key := a.Type().Field(i).Tag.Get("rule")
		if !slices.Contains(names, key) {
			continue
		}
		f := Field{Name: key, Before: shown(a.Field(i), key), After: shown(b.Field(i), key)}
		f.Words = key + " " + words(a.Field(i), b.Field(i), f)
		list = append(list, f)
	}
	return list
}

// shown is a value as documents write it; "" for one that they leave out, which then means the default. A limit of 0 is one.
func shown(v reflect.Value, key string) string {
	if v.IsZero() && key != "limit" || v.Kind() == reflect.Slice && v.Len() == 0 {
		return ""
	}
	n, err := rule.Encode(v.Interface())
	if err != nil {
		return fmt.Sprint(v.Interface())
	}
	return inline(n, false)
}

// inline writes a node in one line, as documents may. Within others a text is quoted where it could be taken for something else.
func inline(n *rule.Node, within bool) string {
	var parts []string
	switch n.Kind {
	case rule.Object:
		for i := range n.Fields {
			parts = append(parts, n.Fields[i].Key+": "+inline(&n.Fields[i].Value, true))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case rule.List:
		for i := range n.Items {
			parts = append(parts, inline(&n.Items[i], true))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case rule.String:
		if within && strings.ContainsAny(n.Text, ",:{}[]\"' ") {
			return strconv.Quote(n.Text)
		}
	}
	return n.Text
}

// words says what becomes of a field.
func words(before, after reflect.Value, f Field) string {
	switch {
	case before.Kind() == reflect.Slice:
		return listWords(before, after)
	case before.Kind() == reflect.Bool:
		if after.Bool() {
			return "is switched on"
		}
		return "is switched off"
	case f.Before == "":
		return "is set to " + f.After + ", it was left to its default"
	case f.After == "":
		return "is left to its default, it was " + f.Before
	}
	up, down := "is raised", "is lowered"
	if before.Type() == reflect.TypeFor[time.Duration]() {
		up, down = "is lengthened", "is shortened"
	}
	switch order(before, after) {
	case -1:
		return fmt.Sprintf("%s from %s to %s", up, f.Before, f.After)
	case 1:
		return fmt.Sprintf("%s from %s to %s", down, f.Before, f.After)
	}
	return fmt.Sprintf("changes from %s to %s", f.Before, f.After)
}

// order compares two numbers; 0 for what has no order. Names of something are no numbers, though they are kept as such.
func order(a, b reflect.Value) int {
	if _, named := a.Interface().(fmt.Stringer); named && a.Type() != reflect.TypeFor[time.Duration]() {
		return 0
	}
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	}
	return 0
}

// listed is how many elements of a list are named.
const listed = 5

// listWords says which elements a list gets and loses.
func listWords(before, after reflect.Value) string {
	a, b := elements(before), elements(after)
	more, fewer := missing(b, a), missing(a, b)
	var parts []string
	if len(more) > 0 {
		parts = append(parts, "gets "+some(more))
	}
	if len(fewer) > 0 {
		parts = append(parts, "loses "+some(fewer))
	}
	if len(parts) == 0 {
		return "comes in another order"
	}
	return strings.Join(parts, ", ")
}

func elements(list reflect.Value) []string {
	texts := make([]string, list.Len())
	for i := range texts {
		texts[i] = cmp.Or(shown(list.Index(i), "limit"), "{}")
	}
	return texts
}

// missing returns what is in list more often than in other.
func missing(list, other []string) []string {
	count := map[string]int{}
	for _, e := range other {
		count[e]++
	}
	var more []string
	for _, e := range list {
		if count[e]--; count[e] < 0 {
			more = append(more, e)
		}
	}
	return more
}

func some(list []string) string {
	text := strings.Join(list[:min(len(list), listed)], ", ")
	if more := len(list) - listed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
