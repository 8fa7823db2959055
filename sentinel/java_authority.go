package sentinel

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cordon-go/cordon/authority"
)

// The strategies of Java's authority rules.
const (
	javaWhite = 0
	javaBlack = 1
)

func (r *reader) javaAuthority() {
	strategy := r.whole("strategy", javaWhite, span{javaWhite, javaBlack})
	a := authority.Rule{ID: r.e.ID, Resource: r.e.match, Also: r.e.regex}
	if strategy == javaWhite {
		a.Allow = r.origins()
	} else {
		a.Deny = r.origins()
	}
	r.e.likeness = r.e.Resource
	if r.accept(a.Problems(), map[string]string{"resource": "resource", "allow": "limitApp", "deny": "limitApp"}) {
		r.e.Rules.Authority = []authority.Rule{a}
	}
}

// origins are the callers that limitApp lists. Java cuts it at commas and nowhere else, so that a space is part of a name.
func (r *reader) origins() []string {
	list := r.text("limitApp")
	if isBlank(list) {
		r.fault("limitApp", "the callers' names, with commas between them", "it is missing or blank, and Sentinel Java would refuse the rule")
		return nil
	}
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		switch {
		case name == "" || slices.Contains(names, name):
			continue // which is nobody's name, or there already
		case strings.Contains(name, "*"):
			r.warn("limitApp", "the callers' names in full", "%q is a name to Sentinel Java, stars and all, and nobody's; it is left out", name)
			continue
		case strings.TrimSpace(name) != name:
			r.warn("limitApp", "no space at the commas", "%q is a name with its space, as in Sentinel Java", name)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		r.fault("limitApp", "the callers' names, with commas between them", "%q names nobody", list)
	}
	return names
}

func (w *writer) authority(a authority.Rule) {
	if w.dialect != Java {
		w.l.omit("", "sentinel-golang has no authority rules")
		return
	}
	regex := w.common(a.Meta())
	strategy, names, field := javaWhite, a.Allow, "allow"
	if len(a.Deny) > 0 {
		strategy, names, field = javaBlack, a.Deny, "deny"
	}
	var written []string
	for _, name := range names {
		why := ""
		switch {
		case strings.Contains(name, "*"):
			why = "Sentinel Java has no patterns of callers' names"
		case strings.Contains(name, ","):
			why = "in Sentinel Java a comma ends a name"
		case !utf8.ValidString(name):
			why = "the name is not UTF-8"
		default:
			written = append(written, name)
			continue
		}
		if strategy == javaWhite {
			w.l.omit(field, "%s, and %q would be refused", why, name)
		} else {
			w.l.add(field, "%s; %q is not written", why, name)
		}
	}
	list := strings.Join(written, ",")
	if isBlank(list) && !w.l.omitted {
		w.l.omit(field, "no name is left that Sentinel Java could have")
	}
	if a.Anonymous != authority.Pass {
		w.l.add("anonymous", "Sentinel Java lets calls without an origin pass")
	}
	w.o.say("limitApp", textNode(list))
	w.o.sayOr("strategy", wholeNode(int64(strategy)), wholeNode(javaWhite))
	w.o.sayOr("regex", boolNode(regex), boolNode(false))
}
