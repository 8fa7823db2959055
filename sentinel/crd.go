package sentinel

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// The group of sentinel-golang's resources for Kubernetes, and the one version that there is of it.
const (
	crdGroup   = "datasource.sentinel.io/"
	crdVersion = crdGroup + "v1alpha1"
)

// crdKinds are the kinds of documents by the kinds of objects.
var crdKinds = map[string]Kind{
	"FlowRules":           Flow,
	"CircuitBreakerRules": Breaker,
	"IsolationRules":      Isolation,
	"HotspotRules":        Param,
	"SystemRules":         System,
}

// crdName is what objects with rules of a kind are called; "" if there are none.
func crdName(k Kind) string {
	for name, kind := range crdKinds {
		if kind == k {
			return name
		}
	}
	return ""
}

const (
	// maxCRD is the size of the largest file of objects, in bytes, maxObjects how many it may hold, and maxCRDValues how many values there may be in it, those that
	// aliases repeat counted each time.
	maxCRD       = 16 << 20
	maxObjects   = 10_000
	maxCRDValues = 2_000_000
)

// A crdObject is an object of Kubernetes.
type crdObject struct {
	node *rule.Node
	// lines is how many lines stand before the YAML document that it is in, from which its positions count.
	lines int
}

// KindsOfCRD returns of what kinds of rules there are objects in a file for Kubernetes, each once, as they come. It is nil for what is no such file, or cannot be read.
func KindsOfCRD(data []byte) []Kind {
	d := decoder{}
	if !isCRD(data) {
		return nil
	}
	objects, err := d.crdObjects(data)
	if err != nil {
		return nil
	}
	var kinds []Kind
	for _, o := range objects {
		if kind, ok := kindOfObject(o.node); ok && kind != 0 && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// isCRD reports whether the document is to be read as objects of Kubernetes.
func isCRD(data []byte) bool {
	start := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\uFEFF")), " \t\r\n")
	return len(start) > 0 && start[0] != '[' && bytes.Contains(data, []byte(crdGroup))
}

// kindOfObject returns what kind of rules an object holds: 0 for one that sentinel-golang has not, false for one that is none of its objects.
func kindOfObject(n *rule.Node) (Kind, bool) {
	if n == nil || n.Kind != rule.Object || !strings.HasPrefix(textOf(n.Field("apiVersion")), crdGroup) {
		return 0, false
	}
	return crdKinds[strings.TrimSuffix(textOf(n.Field("kind")), "List")], true
}

// textOf is the text of a value; "" if it is none.
func textOf(n *rule.Node) string {
	if n == nil || n.Kind != rule.String {
		return ""
	}
	return n.Text
}

// crdRules returns the rules in the objects of the document's kind. Objects of other kinds are for other decoders of the same file.
func (d *decoder) crdRules(data []byte) ([]crdObject, error) {
	want := crdName(d.doc.Kind)
	if want == "" {
		return nil, d.refuse(rule.Position{}, "Sentinel Java's documents", "there are no resources of Kubernetes with %v rules", d.doc.Kind)
	}
	objects, err := d.crdObjects(data)
	if err != nil {
		return nil, err
	}
	var (
		rules  []crdObject
		others []string
		found  bool
	)
	for _, o := range objects {
		kind, ours := kindOfObject(o.node)
		name := textOf(o.node.Field("kind"))
		switch {
		case !ours:
			continue
		case textOf(o.node.Field("apiVersion")) != crdVersion:
			return nil, d.refuse(o.at(o.node.Field("apiVersion")), crdVersion, "%s is a version that is not known", o.node.Field("apiVersion").Text)
		case kind == 0:
			return nil, d.refuse(o.at(o.node), want, "there are no resources of kind %.40q", name)
		case kind != d.doc.Kind:
			others = append(others, name)
			continue
		}
		found = true
		spec := o.node.Field("spec").Field("rules")
		if spec == nil || spec.Kind != rule.List {
			return nil, d.refuse(o.at(o.node), wantArray, "%s has no list spec.rules, which does not clear the rules", name)
		}
		if n := len(rules) + len(spec.Items); n > maxElements {
			return nil, d.refuse(o.at(spec), fmt.Sprintf("at most %d", maxElements), "the document has %d rules and more", n)
		}
		for i := range spec.Items {
			rules = append(rules, crdObject{&spec.Items[i], o.lines})
		}
	}
	if !found {
		has := "it has none of sentinel-golang's resources"
		if len(others) > 0 {
			has = "it has " + strings.Join(slices.Compact(others), ", ")
		}
		return nil, d.refuse(rule.Position{Line: 1, Column: 1}, "an object of kind "+want, "this is no document of %v rules: %s", d.doc.Kind, has)
	}
	return rules, nil
}

// at is where a value stands in the file.
func (o crdObject) at(n *rule.Node) rule.Position {
	return shifted(n.Pos, o.lines)
}

func shifted(at rule.Position, lines int) rule.Position {
	if at.Line > 0 {
		at.Line += lines
	}
	return at
}

// crdObjects parses a file of objects: YAML documents, or one of JSON, each an object or a list of them.
func (d *decoder) crdObjects(data []byte) ([]crdObject, error) {
	if len(data) > maxCRD {
		return nil, d.refuse(rule.Position{}, fmt.Sprintf("at most %d MiB", maxCRD>>20), "the document has %d bytes", len(data))
	}
	var objects []crdObject
	left := maxCRDValues
	for _, part := range yamlDocuments(data) {
		root, err := rule.Parse(part.text)
		if err != nil {
			var p rule.Problem
			if !errors.As(err, &p) {
				p = d.refuse(rule.Position{}, "", "%v", err)
			}
			p.Source, p.Position = d.doc.Source, shifted(p.Position, part.lines)
			return nil, p
		}
		o := crdObject{root, part.lines}
		if root.Kind != rule.Object {
			return nil, d.refuse(o.at(root), "an object with apiVersion: "+crdVersion, "the document is %s", aNode(root))
		}
		if left = d.count(root, left); left < 0 {
			return nil, d.refuse(o.at(root), fmt.Sprintf("at most %d", maxCRDValues), "the documents have too many values")
		}
		objects = append(objects, o)
		if items := root.Field("items"); strings.HasSuffix(textOf(root.Field("kind")), "List") && items != nil {
			objects = objects[:len(objects)-1]
			for i := range items.Items {
				objects = append(objects, crdObject{&items.Items[i], part.lines})
			}
		}
		if len(objects) > maxObjects {
			return nil, d.refuse(o.at(root), fmt.Sprintf("at most %d", maxObjects), "the document has too many objects")
		}
	}
	return objects, nil
}

// count takes the values in a node from those that are left, and stops when there are none.
func (d *decoder) count(n *rule.Node, left int) int {
	left--
	for i := 0; i < len(n.Items) && left >= 0; i++ {
		left = d.count(&n.Items[i], left)
	}
	for i := 0; i < len(n.Fields) && left >= 0; i++ {
		left = d.count(&n.Fields[i].Value, left)
	}
	return left
}

// yamlDocument is one of several documents in a file.
type yamlDocument struct {
	text  []byte
	lines int // before it
}

// yamlDocuments cuts a file at its --- lines, which YAML allows nowhere within a document. Documents of comments only are left out.
func yamlDocuments(data []byte) []yamlDocument {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	var (
		all   []yamlDocument
		begin int
		at    yamlDocument
		some  bool
		lines int
	)
	end := func(upTo int) {
		if at.text = data[begin:upTo]; some {
			all = append(all, at)
		}
		begin, some, at = upTo, false, yamlDocument{lines: lines}
	}
	for pos := 0; pos < len(data); lines++ {
		next := len(data)
		if n := bytes.IndexByte(data[pos:], '\n'); n >= 0 {
			next = pos + n + 1
		}
		line := data[pos:next]
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0) {
			end(pos)
			line = rest
		}
		line = bytes.TrimSpace(line)
		some = some || len(line) > 0 && line[0] != '#' && string(line) != "..."
		pos = next
	}
	end(len(data))
	return all
}

// The words that objects have for Go's numbers.
type vocabulary map[string]int64

var (
	crdCalculations = vocabulary{"": goDirect, "Direct": goDirect, "WarmUp": goWarmUp}
	crdBehaviors    = vocabulary{"": goReject, "Reject": goReject, "Throttling": goThrottle}
	crdRelations    = vocabulary{"": goCurrent, "CurrentResource": goCurrent, "AssociatedResource": goAssociated}
	crdStrategies   = vocabulary{"SlowRequestRatio": slowRatio, "ErrorRatio": errorRatio, "ErrorCount": errorCount}
	crdParamMetrics = vocabulary{"Concurrency": goMetricConcurrency, "QPS": goMetricQPS}
	crdValueKinds   = vocabulary{"KindInt": goInt, "KindString": goString, "KindBool": goBool, "KindFloat64": goFloat64}
	crdMetrics      = vocabulary{"Load": goLoad, "AvgRT": goAvgRT, "Concurrency": goConcurrency, "InboundQPS": goInboundQPS, "CpuUsage": goCPUUsage}
	crdAdmissions   = vocabulary{"NoAdaptive": goNoAdaptive, "BBR": goBBR}
)

// crdWords are the fields with words, by kinds.
var crdWords = map[Kind]map[string]vocabulary{
	Flow:    {"tokenCalculateStrategy": crdCalculations, "controlBehavior": crdBehaviors, "relationStrategy": crdRelations},
	Breaker: {"strategy": crdStrategies},
	Param:   {"metricType": crdParamMetrics, "controlBehavior": crdBehaviors},
	System:  {"metricType": crdMetrics, "strategy": crdAdmissions},
}

// list is the words, for messages.
func (w vocabulary) list() string {
	var all []string
	for word := range w {
		if word != "" {
			all = append(all, word)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return int(w[a] - w[b]) })
	return strings.Join(all, ", ")
}

// fromCRD puts Go's numbers in place of an object's words and hundredths, so that the rule can be read as one of Go's; false if it cannot.
func (r *reader) fromCRD() bool {
	kind := r.d.doc.Kind
	before := len(r.e.Problems.Faults())
	for i := range r.members {
		switch m := &r.members[i]; {
		case !m.known:
		case m.key.name == "specificItems":
			m.field = r.numberedItems(m.field)
		case crdWords[kind][m.key.name] != nil:
			m.field = r.numbered(m.field, m.key.name, crdWords[kind][m.key.name])
		}
	}
	for _, name := range []string{"metricType", "strategy"} {
		if known := crdWords[kind][name]; known != nil && !r.has(name) {
			r.fault(name, known.list(), "it is missing, and sentinel-golang would leave the rule out")
		}
	}
	r.whole("threshold", 0, span{0, 1 << 53})
	r.whole("triggerCount", 0, span{0, 1 << 53})
	if kind == System {
		r.e.match = r.crdMetric()
	}
	if len(r.e.Problems.Faults()) > before {
		return false
	}
	switch {
	case kind == Breaker && r.whole("strategy", slowRatio, aLong) != errorCount:
		r.hundredths("threshold", 100)
	case kind == System && r.e.match == rule.Name(system.Load.String()):
		r.hundredths("triggerCount", 0)
	case kind == System && r.e.match == rule.Name(system.CPU.String()):
		r.hundredths("triggerCount", 100)
	case kind == Flow && r.has("statIntervalInMs"):
		r.warn("statIntervalInMs", "", "sentinel-golang's controller forgets this key and counts per second; here it is the interval, as the resource's schema has it")
	}
	return len(r.e.Problems.Faults()) == before
}

// crdMetric is the match of a system rule, that of no rule if its metric is not known.
func (r *reader) crdMetric() rule.Match {
	m := r.find("metricType")
	if m == nil || m.field.Value.Kind != rule.Number {
		return rule.Match{}
	}
	return rule.Name(goMetrics[r.whole("metricType", goLoad, aLong)].String())
}

// numbered is a field with a number for its word.
func (r *reader) numbered(f *rule.Field, name string, known vocabulary) *rule.Field {
	v := f.Value
	if v.Kind == rule.Null {
		return f
	}
	n, ok := known[v.Text]
	if v.Kind != rule.String || !ok {
		r.faultAt(v.Pos, name, known.list(), "it is %s", aNode(&v))
		return f
	}
	v.Kind, v.Text = rule.Number, strconv.FormatInt(n, 10)
	return &rule.Field{Key: f.Key, Pos: f.Pos, Value: v}
}

// numberedItems is a list of specific items with numbers for the words of their valKind. Those whose word is not known are left to be left out.
func (r *reader) numberedItems(f *rule.Field) *rule.Field {
	if f.Value.Kind != rule.List {
		return f
	}
	list := f.Value
	list.Items = slices.Clone(list.Items)
	for i := range list.Items {
		item := &list.Items[i]
		item.Fields = slices.Clone(item.Fields)
		for j := range item.Fields {
			v := &item.Fields[j].Value
			if fold(item.Fields[j].Key) != "valkind" || v.Kind == rule.Null {
				continue
			}
			at := fmt.Sprintf("specificItems[%d].valKind", i)
			n, ok := crdValueKinds[v.Text]
			if v.Kind != rule.String || !ok {
				r.faultAt(v.Pos, at, crdValueKinds.list(), "it is %s", aNode(v))
				continue
			}
			v.Kind, v.Text = rule.Number, strconv.FormatInt(n, 10)
		}
	}
	return &rule.Field{Key: f.Key, Pos: f.Pos, Value: list}
}

// hundredths makes of a whole number the hundredth part, which objects write it for. most is the greatest that it may be, 0 for no bound.
func (r *reader) hundredths(name string, most int64) {
	m := r.find(name)
	if m == nil {
		return
	}
	n := r.whole(name, 0, aLong)
	if most > 0 && n > most {
		r.fault(name, fmt.Sprintf("0 to %d, in hundredths", most), "%d hundredths are more than the whole", n)
		return
	}
	f := *m.field
	f.Value.Text = strconv.FormatFloat(float64(n)/100, 'f', -1, 64)
	m.field = &f
}
