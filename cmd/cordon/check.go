package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cordon-go/cordon/cmd/cordon/internal/rulefile"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/rule"
)

func newCheck(s streams) *cobra.Command {
	var c checker
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Say what rule documents mean, or what is wrong with them",
		Long: `check reads rule documents, cordon's own and those of Sentinel Java and
sentinel-golang, and says of every rule what it means, or what is wrong with it
and where. "-" reads the standard input.

What a Sentinel document is about is told by --kind, else by its name
(x.flow.json, app-degrade-rules), else by keys that only one kind of rules has.
Resources of Kubernetes say it themselves, and an object is cordon's own.

It ends with exit code 0 when every rule is good (there may be warnings), 1 when
a rule or a document is refused, and 2 when a file cannot be read or it cannot
be told what is in it.`,
		Args: arguments(1, -1),
		RunE: func(_ *cobra.Command, files []string) error {
			c.screen = screen.New(s.out)
			c.in, c.out, c.err = s.in, s.out, s.err
			return c.run(files)
		},
	}
	addAs(cmd.Flags(), &c.as)
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

// addAs adds the flags that say what documents hold.
func addAs(flags *pflag.FlagSet, as *rulefile.As) {
	flags.StringVar(&as.Format, "format", "", "the form of the documents: native or sentinel")
	flags.StringVar(&as.Kind, "kind", "", "what the Sentinel documents are about: "+rulefile.Kinds())
	flags.StringVar(&as.Dialect, "dialect", "", "whose form the Sentinel documents have: java, go or crd")
}

// checker checks documents.
type checker struct {
	streams
	screen *screen.Screen
	as     rulefile.As
	json   bool
}

// run checks the files in order. One that cannot be read does not keep the others from being checked.
func (c *checker) run(files []string) error {
	documents := []documentJSON{}
	var totals totals
	var unreadable error
	for _, file := range files {
		d, err := rulefile.ReadFile(c.in, file, c.as)
		if err != nil {
			unreadable = errors.Join(unreadable, err)
			continue
		}
		totals.add(d)
		if c.json {
			documents = append(documents, toJSON(d))
		} else {
			printDocument(c.screen, d)
		}
	}
	switch {
	case c.json:
		if err := writeJSON(c.out, documents); err != nil {
			return err
		}
	case totals.documents > 1:
		c.screen.Printf("%s", totals)
	}
	if err := errors.Join(unreadable, c.screen.Err()); err != nil {
		return err
	}
	if totals.bad {
		return errBad
	}
	return nil
}

// printDocument says everything about a document.
func printDocument(p *screen.Screen, d *rulefile.Document) {
	p.Printf("%s  %s", p.Paint(screen.Bold, d.Name), p.Paint(screen.Dim, d.About()))
	lines := d.Lines()
	widest := 0
	for _, line := range lines {
		widest = max(widest, screen.Columns(line.ID))
	}
	for _, line := range lines {
		p.Printf("  %s %s %s  %s", p.Paint(screen.Green, "✓"), screen.Pad(line.Kind, 11),
			p.Paint(screen.Bold, screen.Pad(line.ID, min(widest, 24))), line.Sentence)
	}
	printProblems(p, d)
	p.Printf("  → %s\n\n", d.Verdict())
}

// printProblems names what is wrong with a document, faults first.
func printProblems(p *screen.Screen, d *rulefile.Document) {
	for _, problem := range d.Problems.Faults() {
		p.Printf("  %s %s", p.Paint(screen.Red, "✗"), problem.Error())
	}
	for _, problem := range d.Problems.Warnings() {
		p.Printf("  %s %s", p.Paint(screen.Yellow, "!"), problem.Error())
	}
}

// totals adds documents up.
type totals struct {
	documents, whole, good, refused, warnings int // whole counts documents that are refused for what is no rule
	bad                                       bool
}

func (t *totals) add(d *rulefile.Document) {
	t.documents++
	t.good += d.Good()
	t.refused += d.Refused()
	t.warnings += len(d.Problems.Warnings())
	if d.Broken || !d.OK() && d.Refused() == 0 {
		t.whole++
	}
	t.bad = t.bad || !d.OK()
}

// String is the last line of a check of several documents.
func (t totals) String() string {
	text := fmt.Sprintf("%d documents: %s good, %d refused, %s", t.documents, plural(int64(t.good), "rule"), t.refused, plural(int64(t.warnings), "warning"))
	if t.whole > 0 {
		text += "; " + plural(int64(t.whole), "document") + " refused as a whole"
	}
	return text
}

// documentJSON is a document as check --json prints it.
type documentJSON struct {
	File     string          `json:"file"`
	Format   rulefile.Format `json:"format"`
	Kind     string          `json:"kind,omitempty"`
	OK       bool            `json:"ok"`
	Readable bool            `json:"readable"`
	// Partial says that the good rules are put in force although others are refused.
	Partial  bool          `json:"partial"`
	Verdict  string        `json:"verdict"`
	Rules    []ruleJSON    `json:"rules"`
	Problems []problemJSON `json:"problems"`
}

type ruleJSON struct {
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	Meaning string `json:"meaning"`
}

type problemJSON struct {
	Severity string `json:"severity"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Kind     string `json:"kind,omitempty"`
	// Index is the rule's place in its list, absent when the problem is not about one rule.
	Index   *int   `json:"index,omitempty"`
	ID      string `json:"id,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Want    string `json:"want,omitempty"`
}

func toJSON(d *rulefile.Document) documentJSON {
	j := documentJSON{
		File: d.Name, Format: d.Format, Kind: d.Kind, OK: d.OK(), Readable: !d.Broken, Partial: d.Partial, Verdict: d.Verdict(),
		Rules: []ruleJSON{}, Problems: []problemJSON{},
	}
	for _, line := range d.Lines() {
		j.Rules = append(j.Rules, ruleJSON{line.Kind, line.ID, line.Sentence})
	}
	for _, p := range d.Problems {
		j.Problems = append(j.Problems, toProblemJSON(p))
	}
	return j
}

func toProblemJSON(p rule.Problem) problemJSON {
	j := problemJSON{
		Severity: "fault", Line: p.Position.Line, Column: p.Position.Column,
		Kind: p.Kind, ID: p.RuleID, Field: p.Field, Message: p.Message, Want: p.Want,
	}
	if p.Warning {
		j.Severity = "warning"
	}
	if p.Index >= 0 && p.Kind != "" {
		j.Index = &p.Index
	}
	return j
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
