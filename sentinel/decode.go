package sentinel

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/rule"
)

// ErrEmpty is in the error for a document that is empty, or null. Sentinel would drop all rules; here only [] says so.
var ErrEmpty = errors.New("the document is empty")

// Decoder returns a decoder for Engine.Watch of documents of the given kind. It keeps Sentinel's habit: the good rules of a readable document apply,
// and bad ones are reported by position, index, id and field. A document that cannot be read as a whole is refused: broken, empty, null, of another
// kind, of mixed dialects. An empty array is read as no rules.
func Decoder(kind Kind, opts ...Option) cordon.Decoder {
	return func(source string, data []byte) (cordon.Decoded, error) {
		doc, err := Decode(kind, source, data, opts...)
		if err != nil {
			return cordon.Decoded{}, err
		}
		return cordon.Decoded{Rules: doc.Rules(), Problems: doc.Problems, Partial: true}, nil
	}
}

// maxElements bounds what a document makes of memory.
const maxElements = 100_000

// Decode reads a document of the given kind, of at most 100,000 elements; source is for messages. The error says why it cannot be read as a whole: it is a rule.Problem,
// and ErrEmpty or ErrUnsupported where they fit. Faults of single rules are in the document.
func Decode(kind Kind, source string, data []byte, opts ...Option) (Document, error) {
	d := decoder{
		config: newConfig(opts),
		keys:   keysOf(kind),
		met:    make(map[string]member),
		doc:    Document{Source: source, Kind: kind},
	}
	if err := d.read(data); err != nil {
		return Document{}, err
	}
	return d.doc, nil
}

// decoder reads one document.
type decoder struct {
	config
	keys keyTable
	// met are the keys met so far, as written, so that each is looked up once.
	met map[string]member
	doc Document
}

// documentError is a Problem of a whole document with an error that programs can ask for.
type documentError struct {
	rule.Problem
	cause error
}

func (e *documentError) Unwrap() []error { return []error{e.Problem, e.cause} }

// refuse makes the error for the document as a whole.
func (d *decoder) refuse(at rule.Position, want, format string, args ...any) rule.Problem {
	return rule.Problem{
		Source:   d.doc.Source,
		Position: at,
		Index:    -1,
		Message:  fmt.Sprintf(format, args...),
		Want:     want,
	}
}

func (d *decoder) read(data []byte) error {
	if err := d.checkKind(); err != nil {
		return err
	}
	take := d.takeArray
	if d.dialect == CRD || d.dialect == Auto && isCRD(data) {
		take = d.takeObjects
	}
	if err := take(data); err != nil {
		return err
	}
	for i := range d.doc.Elements {
		d.convert(&d.doc.Elements[i])
	}
	d.collapse()
	if d.doc.Kind == Gateway {
		d.warnModes()
	}
	d.warnStrays()
	d.identify()
	for i := range d.doc.Elements {
		e := &d.doc.Elements[i]
		e.Position = shifted(e.Position, e.lines)
		for j := range e.Problems {
			e.Problems[j].Position = shifted(e.Problems[j].Position, e.lines)
		}
		d.doc.Problems = append(d.doc.Problems, e.Problems...)
	}
	return nil
}

// takeArray takes the elements of an array, and tells their dialects.
func (d *decoder) takeArray(data []byte) error {
	root, err := d.parse(data)
	if err != nil {
		return err
	}
	if n := len(root.Items); n > maxElements {
		return d.refuse(root.Pos, fmt.Sprintf("at most %d", maxElements), "the document has %d elements", n)
	}
	d.doc.Elements = make([]Element, len(root.Items))
	for i := range root.Items {
		d.doc.Elements[i] = d.newElement(i, &root.Items[i])
	}
	if err := d.foreign(); err != nil {
		return err
	}
	return d.tellDialects()
}

// takeObjects takes the rules of objects of Kubernetes.
func (d *decoder) takeObjects(data []byte) error {
	if err := d.checkEmpty(data); err != nil {
		return err
	}
	d.keys = crdKeysOf(d.doc.Kind)
	rules, err := d.crdRules(data)
	if err != nil {
		return err
	}
	d.doc.Dialect = CRD
	d.doc.Elements = make([]Element, len(rules))
	for i, r := range rules {
		e := d.newElement(i, r.node)
		e.Dialect, e.lines = CRD, r.lines
		d.doc.Elements[i] = e
	}
	return nil
}

func (d *decoder) checkKind() error {
	kind := d.doc.Kind
	if kind.Supported() {
		switch {
		case kind == Isolation && d.dialect == Java:
			return d.refuse(rule.Position{}, "kind flow", "Sentinel Java has no isolation rules: it limits concurrency by flow rules of grade 0")
		case kind.javaOnly() && d.dialect != Java && d.dialect != Auto:
			return d.refuse(rule.Position{}, "dialect java", "only Sentinel Java has %v rules", kind)
		}
		return nil
	}
	p := d.refuse(rule.Position{}, "one of "+strings.Join(kindNames[Flow:Outlier], ", "), "%v rules of Sentinel are not supported yet", kind)
	return &documentError{p, ErrUnsupported}
}

const wantArray = "an array of rules; [] if there are to be none"

func (d *decoder) checkEmpty(data []byte) error {
	if len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\uFEFF")))) > 0 {
		return nil
	}
	return &documentError{d.refuse(rule.Position{}, wantArray, "the document is empty, which does not clear the rules"), ErrEmpty}
}

// parse returns the document's root, which is a list.
func (d *decoder) parse(data []byte) (*rule.Node, error) {
	if err := d.checkEmpty(data); err != nil {
		return nil, err
	}
	// Repeated keys are no fault to either Sentinel: the last one counts.
	root, err := rule.ParseJSON(data, rule.ParseOptions{Lenient: d.dialect != Go, AllowDuplicates: true})
	if err != nil {
		var p rule.Problem
		if !errors.As(err, &p) {
			p = d.refuse(rule.Position{}, "", "%v", err)
		}
		p.Source = d.doc.Source
		return nil, p
	}
	switch root.Kind {
	case rule.List:
		return root, nil
	case rule.Null:
		return nil, &documentError{d.refuse(root.Pos, wantArray, "the document is null, which does not clear the rules"), ErrEmpty}
	default:
		return nil, d.refuse(root.Pos, wantArray, "the document is %s", aNode(root))
	}
}

// foreign refuses the document if an element is plainly a rule of another kind: the neighbours that could be read would be misread.
func (d *decoder) foreign() error {
	for i := range d.doc.Elements {
		e := &d.doc.Elements[i]
		for _, m := range e.members {
			if m.known {
				continue
			}
			s, found := signatures[fold(m.field.Key)]
			if found && (s.kind != System || !d.reader(e).has("resource")) { // system rules are for no resource
				return d.otherKind(e, m.field.Pos, s.kind, "has the key "+s.name)
			}
		}
		if d.doc.Kind != Authority && e.isAuthority() {
			return d.otherKind(e, e.Position, Authority, "has limitApp and strategy and no limit")
		}
		if kind, limit := d.foreignLimit(e); kind != 0 {
			return d.otherKind(e, e.Position, kind, "has the key "+limit)
		}
	}
	return nil
}

// foreignLimit returns the kind of a rule with a limit where rules have no such limits, and the limit's key; 0 if it has none.
func (d *decoder) foreignLimit(e *Element) (Kind, string) {
	if kind := d.doc.Kind; kind != System && kind != Authority && kind != API {
		return 0, ""
	}
	keys := folded(ruleNode(e.node))
	for _, limit := range []string{"count", "threshold"} {
		if kinds := kindsOfRule(keys); keys[limit] && len(kinds) > 0 && !slices.Contains(kinds, d.doc.Kind) {
			return kinds[0], limit
		}
	}
	return 0, ""
}

// isAuthority reports whether the element is an authority rule by what it has and what it has not: these have no key of their own.
func (e *Element) isAuthority() bool {
	var limitApp, strategy bool
	for _, m := range e.members {
		switch m.key.name {
		case "limitApp":
			limitApp = true
		case "strategy":
			strategy = true
		case "count", "grade", "controlBehavior", "refResource", "threshold", "timeWindow", "retryTimeoutMs", "metricType", "triggerCount":
			return false
		}
	}
	return limitApp && strategy
}

func (d *decoder) otherKind(e *Element, at rule.Position, kind Kind, why string) error {
	p := d.refuse(at, "the kind that the document has", "this is no document of %v rules: element %d is one of the %v rules, as it %s",
		d.doc.Kind, e.Index, kind, why)
	if kind.Supported() {
		return p
	}
	p.Message += fmt.Sprintf("; %v rules are not supported yet", kind)
	return &documentError{p, ErrUnsupported}
}

// tellDialects sets each element's dialect. An element that does not tell stays Auto and gets the fault; a document that mixes them is refused.
func (d *decoder) tellDialects() error {
	d.doc.Dialect = d.dialect
	var teller *Element
	for i := range d.doc.Elements {
		e := &d.doc.Elements[i]
		if e.node.Kind != rule.Object {
			continue
		}
		d.tellDialect(e)
		switch {
		case e.Dialect == Auto:
		case teller == nil:
			teller, d.doc.Dialect = e, e.Dialect
		case e.Dialect != teller.Dialect:
			return d.refuse(e.Position, "one dialect per document, or the dialect to be said: java or go",
				"the document mixes dialects: element %d is %s, and element %d is %s", teller.Index, teller.evidence(), e.Index, e.evidence())
		}
	}
	switch {
	case d.doc.Kind == Isolation:
		d.doc.Dialect = Go
	case d.doc.Kind.javaOnly():
		d.doc.Dialect = Java
	}
	return nil
}

// evidence says what dialect the element has, and by what that was told.
func (e *Element) evidence() string {
	m := e.owned(goOnly)
	if e.Dialect == Java {
		m = e.owned(javaOnly, entityOnly)
	}
	return fmt.Sprintf("%s's by its key %s", e.Dialect.sentinel(), m.key.name)
}

func (d *decoder) tellDialect(e *Element) {
	if d.dialect != Auto {
		e.Dialect = d.dialect
		return
	}
	java, golang := e.owned(javaOnly, entityOnly), e.owned(goOnly)
	r := d.reader(e)
	switch {
	case d.doc.Kind == Isolation && java != nil:
		r.faultAt(java.field.Pos, java.key.name, "kind flow for rules of Sentinel Java",
			"only Sentinel Java has this key: this is a Java flow rule, which limits concurrency with grade 0, and no isolation rule")
	case d.doc.Kind == Isolation:
		e.Dialect = Go
	case d.doc.Kind.javaOnly():
		e.Dialect = Java
	case java != nil && golang != nil:
		r.faultAt(golang.field.Pos, golang.key.name, "one dialect's keys, or the dialect to be said: java or go",
			"only sentinel-golang has this key, and only Sentinel Java has %s: the dialect cannot be told", java.key.name)
	case java != nil:
		e.Dialect = Java
	case golang != nil:
		e.Dialect = Go
	default:
		want := "count (Sentinel Java) or threshold (sentinel-golang)"
		if d.doc.Kind == System {
			want = "a limit such as qps (Sentinel Java), or metricType and triggerCount (sentinel-golang)"
		}
		r.faultAt(e.Position, "", want, "the rule has no limit, and no key that tells whether it is Sentinel Java's or sentinel-golang's")
	}
}

// convert makes the element's native rule, or reports why not.
func (d *decoder) convert(e *Element) {
	r := d.reader(e)
	e.native = nativeKind(d.doc.Kind)
	if e.node.Kind != rule.Object {
		r.faultAt(e.Position, "", "an object that is a rule", "the element is %s", aNode(e.node))
		return
	}
	r.identity()
	switch {
	case e.Dialect == Auto:
	case e.Dialect == CRD:
		if r.fromCRD() {
			r.golang()
		}
	case d.doc.Kind == System && e.Dialect == Java:
		r.javaSystem() // which makes parts
		return
	case e.Dialect == Java && d.doc.Kind != Isolation:
		r.java()
	default:
		r.golang()
	}
	if !e.OK() {
		e.Rules = cordon.Rules{}
	}
	e.parts = []part{{kind: e.native, match: e.match, id: e.ID, made: e.OK()}}
	if d.doc.Kind.nameless(e.Dialect) {
		e.parts[0].id = ""
	}
}

func (r *reader) java() {
	switch r.d.doc.Kind {
	case Flow:
		r.javaFlow()
	case Param:
		r.javaParam()
	case Authority:
		r.javaAuthority()
	case Gateway:
		r.javaGateway()
	case API:
		r.javaAPI()
	default:
		r.javaBreaker()
	}
}

func (r *reader) golang() {
	switch r.d.doc.Kind {
	case Flow:
		r.goFlow()
	case Param:
		r.goParam()
	case System:
		r.goSystem()
	case Isolation:
		r.goIsolation()
	default:
		r.goBreaker()
	}
}

// collapse drops rules of which Java takes only an earlier one, as Java does: those that are equal in all but the id, and authority rules and APIs for the same resource or of the same name.
func (d *decoder) collapse() {
	why := "the rule is equal to element %d and left out, as Sentinel Java does"
	switch d.doc.Kind {
	case Authority:
		why = "element %d is for the same resource, and Sentinel Java takes only the first authority rule of a resource; this one is left out"
	case API:
		why = "element %d has the same name, and Sentinel Java takes only one API of a name; this one is left out"
	}
	first := make(map[any]int)
	for i := range d.doc.Elements {
		e := &d.doc.Elements[i]
		if e.likeness == nil || !e.OK() {
			continue
		}
		if of, twice := first[e.likeness]; twice {
			d.reader(e).warnAt(e.Position, "", "", why, of)
			e.Rules = cordon.Rules{}
			e.parts[0].made = false
			continue
		}
		first[e.likeness] = i
	}
}

// warnStrays warns of keys that mean nothing, of each once, at the first rule that has it.
func (d *decoder) warnStrays() {
	type stray struct{ element, problem, more int }
	strays := make(map[string]*stray)
	for i := range d.doc.Elements {
		e := &d.doc.Elements[i]
		for j := range e.members {
			m := &e.members[j]
			if d.knows(e, m) {
				continue
			}
			folded := fold(m.field.Key)
			if s := strays[folded]; s != nil {
				if s.element != i {
					s.more++
				}
				continue
			}
			d.reader(e).warnUnknown(m, d.keys)
			strays[folded] = &stray{element: i, problem: len(e.Problems) - 1}
		}
	}
	for _, s := range strays {
		if s.more > 0 {
			d.doc.Elements[s.element].Problems[s.problem].Message += fmt.Sprintf(" (here and in %d more rules)", s.more)
		}
	}
}

// knows reports whether the key means something in the element's dialect, or is known to mean nothing.
func (d *decoder) knows(e *Element, m *member) bool {
	if m.outer {
		return true
	}
	if !m.known || m.key.owner == retired {
		return false
	}
	switch e.Dialect {
	case Java:
		return m.key.owner != goOnly
	case Go:
		return m.key.owner != javaOnly
	}
	return true // of Kubernetes' keys all are in the table
}
