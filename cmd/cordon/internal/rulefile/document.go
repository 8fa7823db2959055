// Package rulefile reads rule documents of every form that cordon knows, for tools: it tells whose form a document has and keeps
// everything there is to say about its rules, good and bad.
package rulefile

import (
	"fmt"
	"strings"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// A Format is whose form a document has.
type Format string

// The formats.
const (
	Native       Format = "native"
	SentinelJava Format = "sentinel-java"
	SentinelGo   Format = "sentinel-go"
	// SentinelCRD is resources of Kubernetes with rules of sentinel-golang, of one kind of rules or several.
	SentinelCRD Format = "sentinel-crd"
	// Sentinel is a Sentinel document that does not tell its dialect: an empty one.
	Sentinel Format = "sentinel"
)

// A Document is what a rule document holds.
type Document struct {
	// Name is the file's name, "<stdin>" for the standard input.
	Name string
	// Format is whose form it has, Kind what a Sentinel document is about ("flow"; "flow, breaker" for resources of several kinds).
	Format Format
	Kind   string
	// Rules are the good rules.
	Rules cordon.Rules
	// Problems are the faults of refused rules and of the document, and warnings.
	Problems rule.Problems
	// Partial says that good rules are put in force although others are refused.
	Partial bool
	// Broken says that the document could not be read as a whole; Problems says why.
	Broken bool

	// read is what a Sentinel document was read as; nothing if it could not be read.
	read []sentinel.Document
}

// A Line is one good rule: its Kind and ID, and in one Sentence what it means.
type Line struct {
	Kind, ID, Sentence string
}

// Lines describes the good rules in written order, kind by kind.
func (d *Document) Lines() []Line {
	var lines []Line
	for _, r := range d.Rules.Flow {
		lines = append(lines, newLine("flow", r.ID, r.String()))
	}
	for _, r := range d.Rules.Concurrency {
		lines = append(lines, newLine("concurrency", r.ID, r.String()))
	}
	for _, r := range d.Rules.Breaker {
		lines = append(lines, newLine("breaker", r.ID, r.String()))
	}
	for _, r := range d.Rules.Isolation {
		lines = append(lines, newLine("isolation", r.ID, r.String()))
	}
	for _, r := range d.Rules.Param {
		lines = append(lines, newLine("param", r.ID, r.String()))
	}
	for _, r := range d.Rules.System {
		lines = append(lines, newLine("system", r.ID, r.String()))
	}
	for _, r := range d.Rules.Authority {
		lines = append(lines, newLine("authority", r.ID, r.String()))
	}
	for _, g := range d.Rules.APIGroup {
		lines = append(lines, newLine("apiGroup", g.ID, g.String()))
	}
	return lines
}

// newLine leaves out of the sentence the id that some begin with: it is said beside it.
func newLine(kind, id, sentence string) Line {
	return Line{kind, id, strings.TrimPrefix(sentence, id+": ")}
}

// About says whose form the document has, and what it is about: "sentinel-java, flow".
func (d *Document) About() string {
	if d.Kind == "" {
		return string(d.Format)
	}
	return string(d.Format) + ", " + d.Kind
}

// Good returns how many rules are good.
func (d *Document) Good() int {
	r := &d.Rules
	return len(r.Flow) + len(r.Concurrency) + len(r.Breaker) + len(r.Isolation) + len(r.Param) + len(r.System) + len(r.Authority) + len(r.APIGroup)
}

// Refused returns how many rules have a fault.
func (d *Document) Refused() int {
	refused := map[string]bool{}
	for _, p := range d.Problems.Faults() {
		if p.Index >= 0 && p.Kind != "" {
			refused[fmt.Sprintf("%s[%d]", p.Kind, p.Index)] = true
		}
	}
	return len(refused)
}

// OK reports whether the document has no fault; it may have warnings.
func (d *Document) OK() bool { return !d.Broken && len(d.Problems.Faults()) == 0 }

// Verdict says in one sentence what becomes of the document.
func (d *Document) Verdict() string {
	good, refused := d.Good(), d.Refused()
	switch {
	case d.OK():
		return count(good, "rule") + " good"
	case d.Broken || refused == 0:
		return "the document is refused: the rules in force stay as they are"
	case d.Partial && good == 0:
		return count(refused, "rule") + " refused, none good: the last good versions stay in force"
	case d.Partial:
		return fmt.Sprintf("%s refused; %s good and usable: put in force all the same, and the last good version of what is refused stays",
			count(refused, "rule"), count(good, "rule"))
	case good == 0:
		return count(refused, "rule") + " refused, none good: the rules in force stay as they are"
	default:
		return fmt.Sprintf("%s refused, and the document with it: the rules in force stay as they are; %s good and usable once the rest is mended",
			count(refused, "rule"), count(good, "rule"))
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
