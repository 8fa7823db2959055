package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cordon-go/cordon/cmd/cordon/internal/rulefile"
)

func newConvert(s streams) *cobra.Command {
	c := converter{streams: s}
	cmd := &cobra.Command{
		Use:   "convert --to FORMAT FILE",
		Short: "Write the rules of a document in another form",
		Long: `convert reads a rule document of any form, as check does, and writes its rules
in another: native, sentinel-java or sentinel-go. What the other form cannot say
is listed on the standard error. Rules that have the form already stay as they
are, with all that stands beside them. "-" reads the standard input.

Sentinel keeps each kind of rules in a document of its own. Where the rules need
several, choose one by --document, or let -o name a folder: all are written
there, as flow.json, breaker.json and so on. --document gateway writes limits as
Java's gateway adapters keep them; so are those that come from such a document.

It ends with exit code 0 when every rule was written (parts of it may be lost,
which is listed), 1 when a rule or the document was refused or a rule could not
be written, and 2 when a file cannot be read or written.`,
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, files []string) error { return c.run(files[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.to, "to", "", "the form to write: "+rulefile.Formats())
	addAs(flags, &c.as)
	flags.StringVar(&c.document, "document", "", "which Sentinel document to write: flow, breaker, isolation, param, system, authority, gateway or api")
	flags.StringVarP(&c.output, "output", "o", "", "the file or folder to write to, instead of the standard output")
	if err := cmd.MarkFlagRequired("to"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

// gatewayDocument is the kind of document that Java's gateway adapters keep limits in.
const gatewayDocument = "gateway"

// converter converts one document.
type converter struct {
	streams
	as                   rulefile.As
	to, document, output string
}

func (c *converter) run(file string) error {
	format, err := rulefile.ParseFormat(c.to)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	d, err := rulefile.ReadFile(c.in, file, c.as)
	if err != nil {
		return err
	}
	for _, p := range d.Problems {
		word := "refused"
		if p.Warning {
			word, p.Warning = "warning", false // which it would say once more
		}
		fmt.Fprintf(c.err, "%s: %v\n", word, p)
	}
	if !d.OK() && !d.Partial {
		fmt.Fprintln(c.err, "nothing written: "+d.Verdict())
		return errBad
	}
	parts, lost, err := d.Write(format, c.document == gatewayDocument || c.document == "" && d.Kind == gatewayDocument)
	if err != nil {
		return err
	}
	if len(parts)+len(lost) == 0 {
		return fmt.Errorf("%s holds no rules: there is nothing to convert", d.Name)
	}
	if len(parts) > 0 {
		if parts, err = c.choose(parts); err != nil {
			return err
		}
	}
	if d.Kind != gatewayDocument && len(d.Rules.APIGroup) == 0 && slices.ContainsFunc(parts, forRoutes) {
		fmt.Fprintln(c.err, "warning: the document has no groups of paths (apiGroup), so each gateway rule is written as one for a route, with resourceMode 0; one that is for an API needs a 1")
	}
	complete := d.OK()
	for _, loss := range lost {
		fmt.Fprintf(c.err, "lost: %v\n", loss)
		complete = complete && !loss.Omitted
	}
	for _, part := range parts {
		for _, loss := range part.Losses {
			fmt.Fprintf(c.err, "lost: %v\n", loss)
			complete = complete && !loss.Omitted
		}
	}
	if err := c.put(parts); err != nil {
		return err
	}
	if !complete {
		return errBad
	}
	return nil
}

// forRoutes reports whether the document has gateway rules for routes.
func forRoutes(part rulefile.Part) bool {
	return part.Kind == gatewayDocument && bytes.Contains(part.Data, []byte(`"resourceMode":0`))
}

// choose returns the documents to write: the one asked for, or all if they have a place each.
func (c *converter) choose(parts []rulefile.Part) ([]rulefile.Part, error) {
	var kinds []string
	for _, part := range parts {
		if c.document != "" && part.Kind == c.document {
			return []rulefile.Part{part}, nil
		}
		kinds = append(kinds, part.Kind)
	}
	switch {
	case c.document != "":
		return nil, fmt.Errorf("--document is %q, but the rules make: %s", c.document, orNone(strings.Join(kinds, ", ")))
	case len(parts) > 1 && !isFolder(c.output):
		return nil, fmt.Errorf("the rules make %d documents: %s; choose one by --document, or give a folder by -o", len(parts), strings.Join(kinds, ", "))
	}
	return parts, nil
}

// put writes the documents to where they belong.
func (c *converter) put(parts []rulefile.Part) error {
	for _, part := range parts {
		switch {
		case c.output == "":
			if _, err := c.out.Write(part.Data); err != nil {
				return err
			}
		case isFolder(c.output):
			if err := write(filepath.Join(c.output, part.FileName()), part.Data); err != nil {
				return err
			}
		default:
			if err := write(c.output, part.Data); err != nil {
				return err
			}
		}
	}
	return nil
}

func write(path string, data []byte) error {
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("writing the rules: %w", err)
	}
	return nil
}

// isFolder reports whether the path is an existing folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
