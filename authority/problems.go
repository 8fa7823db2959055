package authority

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cordon-go/cordon/rule"
)

// The bounds of a list.
const (
	maxOrigins  = 10_000
	maxPatterns = 1000
	maxOrigin   = 1000 // bytes
)

// maxSlips is of how many origins that look like slips a rule warns one by one.
const maxSlips = 10

// checks collects what is wrong with a rule.
type checks []rule.Problem

func (c *checks) fault(field, want, format string, args ...any) {
	*c = append(*c, rule.Problem{Field: field, Message: fmt.Sprintf(format, args...), Want: want})
}

func (c *checks) warn(field, want, format string, args ...any) {
	c.fault(field, want, format, args...)
	(*c)[len(*c)-1].Warning = true
}

// Problems returns what is wrong with the rule: both lists or none, too many origins, an origin that is empty or no text, and a resource that is missing or does not compile. Warnings name
// what is in force and looks like a slip: origins with spaces around them, which match only origins that have these too, origins given twice, and a deny list that stops everybody.
func (r Rule) Problems() []rule.Problem {
	var c checks
	if r.Resource == (rule.Match{}) {
		c.fault("resource", "a name, {wildcard: ...}, {regex: ...} or {default: true}", "is missing: a rule must say what it guards")
	} else if _, err := r.Resource.Compile(); err != nil {
		c.fault("resource", "", "%v", err)
	}
	return append(c, r.check()...)
}

// check finds what is wrong with the lists.
func (r Rule) check() checks {
	var c checks
	const one = "one of allow and deny"
	switch {
	case len(r.Allow) == 0 && len(r.Deny) == 0:
		c.fault("allow", one+", with at least one origin", "is missing, and so is deny: the rule says nothing of any origin")
	case len(r.Allow) > 0 && len(r.Deny) > 0:
		c.fault("deny", one, "has no meaning beside allow, which refuses all others already")
	}
	if int(r.Anonymous) >= len(anonymousNames) {
		c.fault("anonymous", "pass or refuse", "%d is unknown", uint8(r.Anonymous))
	}
	c.origins("allow", r.Allow)
	c.origins("deny", r.Deny)
	return c
}

// origins checks one of the lists.
func (c *checks) origins(field string, origins []string) {
	if len(origins) > maxOrigins {
		c.fault(field, fmt.Sprintf("at most %d, and patterns for the rest", maxOrigins), "has %d origins: too many to be kept", len(origins))
		return
	}
	patterns, slips := 0, 0
	first := make(map[string]int, len(origins))
	for i, o := range origins {
		at := field + "[" + strconv.Itoa(i) + "]"
		if isPattern(o) {
			patterns++
		}
		switch j, again := first[o]; {
		case o == "":
			c.fault(at, "a name; anonymous says what becomes of calls without one", "is empty")
		case len(o) > maxOrigin:
			c.fault(at, fmt.Sprintf("at most %d bytes", maxOrigin), "is %d bytes long", len(o))
		case isPattern(o) && !validPattern(o):
			c.fault(at, "", "pattern %q is not valid UTF-8", o)
		case again:
			if slips++; slips <= maxSlips {
				c.warn(at, "each origin once", "is the same as %s[%d]", field, j)
			}
		case strings.TrimSpace(o) != o:
			if slips++; slips <= maxSlips {
				c.warn(at, strconv.Quote(strings.TrimSpace(o)), "looks like a slip: %q matches only origins that have the spaces too", o)
			}
		case field == "deny" && strings.Trim(o, "*") == "":
			c.warn(at, "names of those who may not call", "looks like a slip: it denies every origin")
		case field == "allow" && strings.Trim(o, "*") == "":
			c.warn(at, "names of those who may call", "looks like a slip: it allows every origin")
		}
		if _, again := first[o]; !again {
			first[o] = i
		}
	}
	if slips > maxSlips {
		c.warn(field, "each origin once, without spaces around it", "has %d more origins that look like slips", slips-maxSlips)
	}
	if patterns > maxPatterns {
		c.fault(field, fmt.Sprintf("at most %d patterns, and names for the rest", maxPatterns), "has %d patterns: too many to be tried on a call", patterns)
	}
}
