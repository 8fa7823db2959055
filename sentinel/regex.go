package sentinel

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/cordon-go/cordon/rule"
)

// match finds which resources the rule is for. Sentinel applies a rule with an expression besides those that name the resource.
func (r *reader) match() {
	e := r.e
	e.match = rule.Name(e.Resource)
	if e.Resource == "" || !r.bool("regex", false) {
		return
	}
	if kind := r.d.doc.Kind; (kind == Breaker || kind == Param) && e.Dialect == Go {
		r.warn("regex", "", "sentinel-golang's %v rules know no expressions: the resource is taken for a name", kind)
		return
	}
	translate := fromGoRegex
	if e.Dialect == Java {
		translate = fromJavaRegex
	}
	expr, err := translate(e.Resource)
	if err != nil {
		r.fault("resource", "an expression that RE2 knows", "%v", err)
		expr = e.Resource
	}
	e.match, e.regex = rule.Regex(expr), true
}

// checkRegex reports why an expression is not valid.
func checkRegex(expr string) error {
	_, err := syntax.Parse(expr, syntax.Perl)
	var bad *syntax.Error
	if errors.As(err, &bad) {
		return fmt.Errorf("regex %q is not valid: %s in %q", expr, bad.Code, bad.Expr)
	}
	return err
}

// fromJavaRegex returns Java's expression if RE2 reads it in the same way; like cordon's it must match the whole name.
func fromJavaRegex(expr string) (string, error) {
	if err := checkRegex(expr); err != nil {
		return "", err
	}
	if what := readOtherwise(expr); what != "" {
		return "", fmt.Errorf("regex %q has %s, which Java and RE2 read in different ways", expr, what)
	}
	return expr, nil
}

// toJavaRegex returns the expression for Java, or why it would be read otherwise there.
func toJavaRegex(expr string) (string, error) { return fromJavaRegex(expr) }

// readOtherwise names what a valid RE2 expression has that means another thing in Java, "" if nothing is found: in classes Java knows nesting and
// intersection, and some signs after (? and backslashes differ.
func readOtherwise(expr string) string {
	class := false
	for i := 0; i < len(expr); i++ {
		rest := expr[i:]
		switch {
		case strings.HasPrefix(rest, `\Q`):
			end := strings.Index(rest, `\E`)
			if end < 0 {
				return ""
			}
			i += end + 1
		case rest[0] == '\\':
			if len(rest) > 1 && '1' <= rest[1] && rest[1] <= '9' {
				return "a back reference or an octal character"
			}
			i++
		case class && rest[0] == '[':
			return "a [ within a class"
		case class && strings.HasPrefix(rest, "&&"):
			return "&& within a class"
		case class && rest[0] == ']':
			class = false
		case !class && rest[0] == '[':
			class = true
			if strings.HasPrefix(rest, "[^") {
				i++
			}
			if i+1 < len(expr) && expr[i+1] == ']' {
				i++ // a ] at the beginning of a class is one of its characters
			}
		case !class && strings.HasPrefix(rest, "(?P"):
			return "a group named by (?P"
		case !class && strings.HasPrefix(rest, "(?") && strings.ContainsRune(flags(rest[2:]), 'U'):
			return "the flag U"
		}
	}
	return ""
}

// flags returns the letters and minus signs at the beginning.
func flags(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool { return r != '-' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') })
	if end < 0 {
		return s
	}
	return s[:end]
}

// sentinel-golang searches the expression anywhere in the name, cordon matches the whole name.
const (
	anywhereBegin, anywhereEnd = `(?s:.*)(?:`, `)(?s:.*)`
	wholeBegin, wholeEnd       = `^(?:`, `)$`
)

// fromGoRegex returns an expression that matches a whole name where Go's is found in it.
func fromGoRegex(expr string) (string, error) {
	if err := checkRegex(expr); err != nil {
		return "", err
	}
	if whole, ok := between(expr, wholeBegin, wholeEnd); ok {
		return whole, nil
	}
	all := anywhereBegin + expr + anywhereEnd
	return all, checkRegex(all)
}

// toGoRegex is the inverse of fromGoRegex, for every valid expression.
func toGoRegex(expr string) (string, error) {
	if found, ok := between(expr, anywhereBegin, anywhereEnd); ok {
		if back, err := fromGoRegex(found); err == nil && back == expr {
			return found, nil
		}
	}
	whole := wholeBegin + expr + wholeEnd
	return whole, checkRegex(whole)
}

// between returns what stands between two brackets, if that is a valid expression by itself.
func between(expr, begin, end string) (string, bool) {
	inner, ok := strings.CutPrefix(expr, begin)
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, end)
	return inner, ok && inner != "" && checkRegex(inner) == nil
}
