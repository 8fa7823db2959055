package main

import (
	"bytes"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cordon-go/cordon/cmd/cordon/internal/rulediff"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulefile"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
)

func (r *rules) diffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say what changes from one document to another, rule by rule",
		Long: `diff says what changes from one document to another: which rules come and go, and
what becomes of each field of those that stay. Rules are told apart by their
ids; the documents may have different forms. "-" reads the standard input.

It ends with exit code 0 when no rule differs, 1 when one does or a document is
refused, and 2 when a document cannot be had or it cannot be told what is in it.`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return r.diff(cmd.Context(), args[0], args[1]) },
	}
	cmd.Flags().BoolVar(&r.json, "json", false, "print JSON")
	return cmd
}

func (r *rules) diff(ctx context.Context, from, to string) error {
	before, err := r.read(ctx, from)
	if err != nil {
		return err
	}
	after, err := r.read(ctx, to)
	if err != nil {
		return err
	}
	if err := r.decode(&before, &after); err != nil {
		return err
	}
	d := compare(&before, &after)
	if r.json {
		err = writeJSON(r.out, d.toJSON())
	} else {
		p := screen.New(r.out)
		d.print(p)
		err = p.Err()
	}
	if err != nil {
		return err
	}
	if !d.Same() || !before.document.OK() || !after.document.OK() {
		return errBad
	}
	return nil
}

// A difference is what changes from one side to another.
type difference struct {
	*rulediff.Diff
	before, after *side
}

func compare(before, after *side) difference {
	d := difference{&rulediff.Diff{}, before, after}
	if !after.broken() {
		d.Diff = rulediff.Compare(before.document, after.document)
	}
	return d
}

// broken reports whether there is a document that cannot be read.
func (s *side) broken() bool { return s.document != nil && s.document.Broken }

// identical reports whether the documents are the same byte for byte.
func (d difference) identical() bool {
	return d.before.content.Absent == d.after.content.Absent && bytes.Equal(d.before.content.Data, d.after.content.Data)
}

// print says everything about the difference.
func (d difference) print(p *screen.Screen) {
	for _, s := range []*side{d.before, d.after} {
		mark := "---"
		if s == d.after {
			mark = "+++"
		}
		p.Printf("%s %s  %s", p.Paint(screen.Dim, mark), p.Paint(screen.Bold, s.name), p.Paint(screen.Dim, s.about()))
		if s.document != nil {
			printProblems(p, s.document)
		}
	}
	widest := 0
	for _, c := range d.Changes {
		widest = max(widest, screen.Columns(c.ID))
	}
	for _, c := range d.Changes {
		line := screen.Pad(c.Kind, 11) + " " + p.Paint(screen.Bold, screen.Pad(c.ID, min(widest, 24)))
		switch c.What {
		case rulediff.Added:
			p.Printf("  %s %s  %s", p.Paint(screen.Green, "+"), line, c.After)
		case rulediff.Removed:
			p.Printf("  %s %s  it was: %s", p.Paint(screen.Red, "-"), line, c.Before)
		case rulediff.Refused:
			p.Printf("  %s %s  refused as it is now; it was: %s", p.Paint(screen.Red, "✗"), line, c.Before)
		default:
			p.Printf("  %s %s  %s", p.Paint(screen.Yellow, "~"), line, words(c.Fields))
			p.Printf("    %s  now: %s", strings.Repeat(" ", screen.Columns(line)), c.After)
		}
	}
	p.Printf("  → %s", d.verdict())
}

func words(fields []rulediff.Field) string {
	var texts []string
	for _, f := range fields {
		texts = append(texts, f.Words)
	}
	return strings.Join(texts, "; ")
}

// verdict says in one sentence what changes.
func (d difference) verdict() string {
	switch {
	case d.identical():
		return "the same, byte for byte"
	case d.after.broken():
		return d.after.document.Verdict()
	case d.Same() && d.before.content.Absent:
		return "a document without rules, where there was none"
	case d.Same():
		return "no rule changes, only how it is written: " + plural(int64(d.Unchanged), "rule") + " the same"
	}
	text := d.String()
	if after := d.after.document; after != nil && !after.OK() {
		text += "; " + after.Verdict()
	}
	return text
}

// diffJSON is a difference as diff --json prints it.
type diffJSON struct {
	Before sideJSON `json:"before"`
	After  sideJSON `json:"after"`
	// Same says that no rule differs, Identical that no byte does.
	Same      bool         `json:"same"`
	Identical bool         `json:"identical"`
	Added     int          `json:"added"`
	Changed   int          `json:"changed"`
	Removed   int          `json:"removed"`
	Refused   int          `json:"refused"`
	Unchanged int          `json:"unchanged"`
	Changes   []changeJSON `json:"changes"`
}

type sideJSON struct {
	Name     string          `json:"name"`
	Exists   bool            `json:"exists"`
	Format   rulefile.Format `json:"format,omitempty"`
	Kind     string          `json:"kind,omitempty"`
	OK       bool            `json:"ok"`
	Problems []problemJSON   `json:"problems"`
}

type changeJSON struct {
	What   rulediff.What `json:"what"`
	Kind   string        `json:"kind"`
	ID     string        `json:"id"`
	Before string        `json:"before,omitempty"`
	After  string        `json:"after,omitempty"`
	Fields []fieldJSON   `json:"fields,omitempty"`
}

type fieldJSON struct {
	Name   string `json:"name"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Words  string `json:"words"`
}

func (d difference) toJSON() diffJSON {
	j := diffJSON{
		Before: d.before.toJSON(), After: d.after.toJSON(), Same: d.Same(), Identical: d.identical(),
		Added: d.Count(rulediff.Added), Changed: d.Count(rulediff.Changed), Removed: d.Count(rulediff.Removed), Refused: d.Count(rulediff.Refused), Unchanged: d.Unchanged,
		Changes: []changeJSON{},
	}
	for _, c := range d.Changes {
		change := changeJSON{What: c.What, Kind: c.Kind, ID: c.ID, Before: c.Before, After: c.After}
		for _, f := range c.Fields {
			change.Fields = append(change.Fields, fieldJSON(f))
		}
		j.Changes = append(j.Changes, change)
	}
	return j
}

func (s *side) toJSON() sideJSON {
	j := sideJSON{Name: s.name, Problems: []problemJSON{}}
	if d := s.document; d != nil {
		j.Exists, j.Format, j.Kind, j.OK = true, d.Format, d.Kind, d.OK()
		for _, p := range d.Problems {
			j.Problems = append(j.Problems, toProblemJSON(p))
		}
	}
	return j
}
