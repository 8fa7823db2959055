package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/file"
	"github.com/cordon-go/cordon/sentinel"
)

// firstWithin is how long New waits for the first rules of all sources together.
const firstWithin = 5 * time.Second

// A watch is a source that rules are taken from.
type watch struct {
	*cordon.Watch
	feed
}

// A feed is a source that is to be watched.
type feed struct {
	source   datasource.Source
	decode   cordon.Decoder
	lastGood string
	// kept says that there was a last-good file at the start.
	kept bool
	// entry is which of Config.Rules it is of.
	entry int
	// app is the app that the document is of, nil if it is of none.
	app *app
}

// watch takes rules from all that the configuration names, and then the gateway's own.
func (g *Gateway) watch() error {
	feeds, err := g.feeds()
	if err != nil {
		return err
	}
	for _, f := range feeds {
		opts := []cordon.WatchOption{cordon.FirstWithin(0)}
		if f.lastGood != "" {
			opts = append(opts, cordon.LastGood(f.lastGood))
		}
		w, err := g.eng.Watch(context.Background(), f.source, f.decode, opts...)
		if err != nil {
			return err
		}
		g.watches = append(g.watches, watch{w, f})
	}
	g.awaitRules()
	if g.cfg.Isolation == NoIsolation {
		return nil
	}
	own := ownRules{g.cfg.Isolation.preset()}
	_, err = g.eng.Watch(context.Background(), own, own.decode)
	return err
}

// awaitRules waits a moment for the first rules, and logs which are not in force. Those that are kept come at once, and tell what else is not waited for.
func (g *Gateway) awaitRules() {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	timer := g.opts.clk.AfterFunc(firstWithin, func() { cancel(fmt.Errorf("nothing came within %v", firstWithin)) })
	defer timer.Stop()
	for _, kept := range []bool{true, false} {
		for i := range g.watches {
			if w := &g.watches[i]; w.kept == kept && !g.mayLack(w) {
				g.await(ctx, w)
			}
		}
	}
}

// await waits for a source's first rules, or for it to say that it need not have any.
func (g *Gateway) await(ctx context.Context, w *watch) {
	if err := w.First(ctx); err != nil && !g.mayLack(w) {
		source := w.source.Name()
		g.log.log(slog.LevelError, "rules are not in force", source, slog.String("source", source), slog.Any("error", err))
	}
}

// mayLack reports whether it is well that no rules of the source are in force: there is no document and none is needed; or nothing has come of it yet and there was none when the gateway ran
// before, whose rules of the same entry are in force.
func (g *Gateway) mayLack(w *watch) bool {
	switch {
	case w.app == nil:
		return false
	case w.Health().Absent:
		return true
	}
	return !w.kept && w.Report().Time.IsZero() && slices.ContainsFunc(g.watches, func(o watch) bool { return o.entry == w.entry && o.Health().Stale })
}

// lacking returns the apps without documents if no rules of any source are in force: such a gateway protects nothing, and nobody may have wanted that.
func (g *Gateway) lacking() []string {
	var names []string
	for i := range g.watches {
		w := &g.watches[i]
		if !w.Health().Applied.IsZero() {
			return nil
		}
		if r := g.cfg.Rules[w.entry]; w.app != nil && w.app.isEmpty() && !slices.Contains(names, r.Nacos.appName()) {
			names = append(names, r.Nacos.appName())
		}
	}
	return names
}

// noDocuments is what is said of an app whose documents are all absent.
const noDocuments = "none of the documents of this app exists: is the app, the group or the namespace misspelt, or has the server lost its data?"

// feeds opens the sources in the configuration's order, which is the order in which they come before each other.
func (g *Gateway) feeds() ([]feed, error) {
	var feeds []feed
	for i, r := range g.cfg.Rules {
		if !r.Nacos.given() {
			feeds = append(feeds, feed{source: file.Source(r.File), decode: r.decoder(r.Kind), lastGood: r.LastGood, kept: exists(r.LastGood), entry: i})
			continue
		}
		sources, err := g.nacosSources(r)
		if err != nil {
			return nil, fmt.Errorf("gateway: rules[%d].nacos: %w", i, err)
		}
		a := &app{none: func() { g.warn(noDocuments, r.Nacos.appName()) }}
		for _, s := range sources {
			f := feed{source: s.Source, decode: r.decoder(r.Kind), lastGood: r.LastGood, entry: i}
			if r.Nacos.App != "" && r.LastGood != "" {
				f.lastGood = filepath.Join(r.LastGood, fileName(s.Source.Name()))
			}
			f.kept = exists(f.lastGood)
			if r.Nacos.App != "" {
				f.decode, f.source, f.app = r.decoder(s.Kind), a.document(s.Source), a
			}
			feeds = append(feeds, f)
		}
	}
	return feeds, nil
}

// exists reports whether there is a file at path; there is none at "".
func exists(path string) bool {
	_, err := os.Stat(path)
	return path != "" && err == nil
}

// fileName is a file's name for a source, by what follows the last slash in its own.
func fileName(source string) string {
	return strings.ReplaceAll(source[strings.LastIndexByte(source, '/')+1:], ":", "_") // which Windows does not take
}

// decoder reads the source's documents; kind is what a Sentinel one is about.
func (r RuleSource) decoder(kind sentinel.Kind) cordon.Decoder {
	if r.Format == Native && r.Nacos.App == "" {
		return cordon.Native
	}
	return sentinel.Decoder(kind, sentinel.WithDialect(r.Dialect))
}

// nacosSources opens the sources of documents on the Nacos server, whose client is made with the first.
func (g *Gateway) nacosSources(r RuleSource) ([]NacosSource, error) {
	if g.nacos == nil {
		client, err := g.opts.nacos(g.cfg.Nacos)
		if err != nil {
			return nil, err
		}
		g.nacos = client
	}
	r.Nacos.Group = r.Nacos.groupName()
	return g.nacos.Sources(r)
}
