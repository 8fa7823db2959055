package sentinel

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/cordon-go/cordon/rule"
)

// ErrKindUnknown is in KindOf's error when neither the name nor the content tells the kind.
var ErrKindUnknown = errors.New("cannot tell what kind of Sentinel rules this is")

// wordKinds are the words that name a kind, in files' names and in UnmarshalText.
var wordKinds = map[string]Kind{
	"flow":           Flow,
	"degrade":        Breaker,
	"breaker":        Breaker,
	"circuitbreaker": Breaker,
	"isolation":      Isolation,
	"param":          Param,
	"paramflow":      Param,
	"hotspot":        Param,
	"system":         System,
	"authority":      Authority,
	"gateway":        Gateway,
	"gatewayflow":    Gateway,
	"gwflow":         Gateway,
	"api":            API,
	"apis":           API,
	"gatewayapi":     API,
	"gatewayapis":    API,
	"apidefinition":  API,
	"apidefinitions": API,
	"apigroup":       API,
	"apigroups":      API,
	"gwapigroup":     API,
	"outlier":        Outlier,
}

// KindOf tells the kind of a document by its file's name or data id (app-flow-rules, orders.degrade.json, IsolationRule.json), else by keys
// that only one kind has. The document n may be nil if there is only a name. The error is ErrKindUnknown, and says what to ask for.
// The kind need not be a supported one. What an object of Kubernetes is it says itself, whatever the name is; for a file of several see KindsOfCRD.
func KindOf(name string, n *rule.Node) (Kind, error) {
	if kind, ok := kindOfObject(n); ok && kind != 0 {
		return kind, nil
	}
	kind, sure := kindOfName(name)
	if sure {
		return kind, nil
	}
	kinds := kindsOfKeys(n)
	if len(kinds) == 1 {
		return kinds[0], nil
	}
	if kind != 0 && len(kinds) == 0 {
		return kind, nil
	}
	may := "the name has none of the words flow, degrade, isolation ..., and no key decides"
	if len(kinds) > 1 {
		may = fmt.Sprintf("by its keys it may be %v or %v, and the name does not say", kinds[0], kinds[1])
	}
	return 0, fmt.Errorf("%s: %w: %s; want the kind to be said, or a name such as app.flow.json", name, ErrKindUnknown, may)
}

// kindOfName takes the last word that names a kind, because an application's name comes first (flow-service-degrade-rules). It is not sure of the
// word api alone, as in orders-api.json.
func kindOfName(name string) (kind Kind, sure bool) {
	previous := ""
	for _, word := range words(filepath.Base(name)) {
		word = strings.TrimSuffix(strings.TrimSuffix(word, "s"), "rule")
		switch k := wordKinds[word]; {
		case word == "api":
			if previous == "gateway" || previous == "gw" || !sure {
				kind, sure = API, previous == "gateway" || previous == "gw"
			}
		case previous == "api" && (word == "definition" || word == "group"):
			kind, sure = API, true
		case word == "flow" && wordKinds[previous+word] != 0:
			kind, sure = wordKinds[previous+word], true // param-flow, gateway-flow
		case word == "flow" && wordKinds[previous] == Param:
			kind, sure = Param, true // hotspot-flow
		case k != 0:
			kind, sure = k, true
		}
		previous = word
	}
	return kind, sure
}

// words splits a name at signs and at capitals, in lower case.
func words(name string) []string {
	var split strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower || !unicode.IsLetter(r) {
			split.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		if unicode.IsLetter(r) {
			split.WriteRune(unicode.ToLower(r))
		}
	}
	return strings.Fields(split.String())
}

// kindsOfKeys returns the kinds that a document may be of by its rules' keys, none if nothing can be said.
func kindsOfKeys(n *rule.Node) []Kind {
	if n == nil || n.Kind != rule.List {
		return nil
	}
	var found []Kind
	for i := range n.Items {
		kinds := kindsOfRule(folded(ruleNode(&n.Items[i])))
		switch {
		case len(kinds) == 0:
		case len(kinds) == 1 && len(found) != 1, found == nil:
			found = kinds // a rule that is clear about it speaks for those that are not
		case len(kinds) == 1 && kinds[0] != found[0]:
			return []Kind{found[0], kinds[0]}
		}
	}
	return found
}

// kindsOfRule returns the kinds a rule with these keys may be of.
func kindsOfRule(keys map[string]bool) []Kind {
	var kind Kind
	for k := range keys {
		if s := signatures[k].kind; s > kind {
			kind = s // an outlier rule, the last kind, has a breaker rule's keys too
		}
	}
	switch {
	case kind != 0:
		return []Kind{kind}
	case keys["count"]:
		return []Kind{Flow}
	case keys["threshold"] && keys["metrictype"]:
		return []Kind{Isolation, Param}
	case keys["threshold"] && keys["controlbehavior"]:
		return []Kind{Flow}
	case keys["threshold"]:
		return []Kind{Flow, Isolation}
	case keys["metrictype"] && keys["adaptivestrategy"]:
		return []Kind{System} // an old one, of which nothing is left
	case keys["limitapp"] && keys["strategy"]:
		return []Kind{Authority}
	}
	return nil
}

// folded returns the folded keys of an object.
func folded(n *rule.Node) map[string]bool {
	keys := make(map[string]bool, len(n.Fields))
	for i := range n.Fields {
		keys[fold(n.Fields[i].Key)] = true
	}
	return keys
}

// ruleNode returns the rule in an element: the element itself, or what a dashboard's entity holds under "rule".
func ruleNode(n *rule.Node) *rule.Node {
	for i := range n.Fields {
		if f := &n.Fields[i]; f.Value.Kind == rule.Object && fold(f.Key) == "rule" {
			return &f.Value
		}
	}
	return n
}
