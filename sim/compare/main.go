// Command compare runs cordon, and models of what others do, in the worlds of package worlds, and prints a table of what came of it.
//
//	go run ./sim/compare                          # all worlds, five seeds
//	go run ./sim/compare -seeds 20 -world N3,N3f
//	go run ./sim/compare -markdown -write docs/isolation.md
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/sim"
	"github.com/cordon-go/cordon/sim/worlds"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if err != flag.ErrHelp {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(2)
	}
}

// policies are compared. All choose at random by weight.
func policies() []sim.Policy {
	return []sim.Policy{sim.Cordon{Balance: balance.Options{Strategy: balance.Random}}, sim.Envoy{}, sim.A50{}, sim.Finagle{}, sim.Consecutive{}}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	seeds := flags.Int("seeds", 5, "how many seeds each world is run with, 1 to 1000")
	first := flags.Uint64("first", 1, "the first seed")
	only := flags.String("world", "", "names of worlds, with commas between; default all")
	markdown := flags.Bool("markdown", false, "write the table in Markdown")
	write := flags.String("write", "", "a file whose part between the lines "+begin+" and "+end+" becomes the table, in Markdown")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("compare: %q: want flags only", flags.Arg(0))
	}
	if *seeds < 1 || *seeds > 1000 {
		return fmt.Errorf("compare: -seeds %d: want 1 to 1000", *seeds)
	}
	list, err := chosen(*only)
	if err != nil {
		return err
	}
	if *write != "" { // a file that will not do is found out before minutes have passed
		if _, err := between(*write, nil); err != nil {
			return err
		}
	}
	rows, err := measure(list, policies(), *seeds, *first)
	if err != nil {
		return err
	}
	var table bytes.Buffer
	if *markdown || *write != "" {
		writeMarkdown(&table, rows, policies(), *seeds)
	} else {
		writeText(&table, rows, policies(), *seeds)
	}
	if *write == "" {
		_, err := out.Write(table.Bytes())
		return err
	}
	text, err := between(*write, table.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(*write, text, 0o644)
}

func chosen(names string) ([]worlds.World, error) {
	if names == "" {
		return worlds.All(), nil
	}
	var list []worlds.World
	for _, name := range strings.Split(names, ",") {
		w, ok := worlds.Named(strings.TrimSpace(name))
		if !ok {
			var known []string
			for _, w := range worlds.All() {
				known = append(known, w.Name)
			}
			return nil, fmt.Errorf("compare: -world: there is no world %q; want one of %s", name, strings.Join(known, ", "))
		}
		list = append(list, w)
	}
	return list, nil
}

// begin and end are the lines between which the table stands in a file.
const (
	begin = "<!-- worlds -->"
	end   = "<!-- end -->"
)

// between returns the file's text with the table between the two lines.
func between(path string, table []byte) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	from := bytes.Index(text, []byte(begin))
	if from < 0 {
		return nil, fmt.Errorf("compare: %s: no line %s; want it, and %s after it", path, begin, end)
	}
	from += len(begin)
	length := bytes.Index(text[from:], []byte(end))
	if length < 0 {
		return nil, fmt.Errorf("compare: %s: no line %s after %s", path, end, begin)
	}
	return bytes.Join([][]byte{text[:from], []byte("\n"), table, text[from+length:]}, nil), nil
}
