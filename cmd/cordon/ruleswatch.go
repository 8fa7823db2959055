package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cordon-go/cordon/cmd/cordon/internal/rulefile"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulestore"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/datasource"
)

func (r *rules) watchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch ADDRESS",
		Short: "Show every change of a document as it comes, until Ctrl-C",
		Long: `watch shows what a document holds, and then every change of it as "rules diff" does,
until it gets SIGINT or SIGTERM. That it cannot be reached for a while, or is
deleted, is told on the standard error, and so is that this has ended.

It ends with exit code 0 when it was told to, and 2 when the document cannot be
watched.`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return r.watch(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&r.json, "json", false, "print a JSON object a line for each change")
	return cmd
}

func (r *rules) watch(ctx context.Context, address string) error {
	p, err := r.at(address)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w := watcher{rules: r, screen: screen.New(r.out), place: p, last: side{name: p.String(), content: rulestore.Content{Absent: true}}, stop: stop}
	pump := datasource.Start(ctx, p.Source(), w.take, datasource.PumpOptions{Clock: r.clock, Logger: r.logger(), Debounce: -1})
	<-ctx.Done()
	err = errors.Join(pump.Close(), p.Close())
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// A watcher shows a document's changes.
type watcher struct {
	*rules
	screen *screen.Screen
	place  place
	last   side // what was shown last
	stop   func(error)
}

// take shows what the document has become. It is called by one goroutine at a time.
func (w *watcher) take(d datasource.Document) error {
	now := side{name: w.place.String(), content: rulestore.Content{Data: d.Data}}
	_, err := now.decode(w.as)
	if rulefile.IsUnclear(err) && w.last.document != nil {
		_, err = now.decode(rulefile.As{Format: w.as.Format, Kind: w.last.document.Kind, Dialect: w.as.Dialect})
	}
	if err != nil {
		w.stop(err)
		return err
	}
	change := compare(&w.last, &now)
	if w.json {
		var line []byte
		if line, err = json.Marshal(watchJSON{w.clock.Wall(w.clock.Now()).UTC(), d.Version, change.toJSON()}); err == nil {
			_, err = fmt.Fprintf(w.out, "%s\n", line)
		}
	} else {
		w.screen.Printf("%s", w.screen.Paint(screen.Dim, w.clock.Wall(w.clock.Now()).Format(time.DateTime)+"  version "+orNone(d.Version)))
		if w.last.content.Absent || !usable(now.document) {
			printDocument(w.screen, now.document)
		} else {
			change.print(w.screen)
			w.screen.Printf("")
		}
		err = w.screen.Err()
	}
	if err != nil {
		w.stop(err)
		return err
	}
	if inForce := now.document.InForce(w.last.document); inForce != w.last.document {
		shown := *inForce
		shown.Problems = nil // they were shown
		w.last = side{name: now.name, content: now.content, document: &shown}
	}
	return nil
}

// watchJSON is a change as watch --json prints it.
type watchJSON struct {
	// Time is when it came, and Version what the document's version is called.
	Time    time.Time `json:"time"`
	Version string    `json:"version"`
	diffJSON
}

// usable reports whether who follows a document takes rules from this one.
func usable(d *rulefile.Document) bool { return d.OK() || d.Partial && !d.Broken }
