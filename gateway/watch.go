package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// app is the entry of Config.Rules that names the app of the document, -1 if it is none of an app. Such a document need not exist: an app has documents only
	// of the kinds of rules it uses.
	app int
	// lacked says that it did not exist when the gateway last ran: it has no last-good file, as others of the app have.
	lacked bool
}

// mayLack reports whether there is no document where none is needed: the source says so, or has said nothing yet since it was so.
func (w watch) mayLack(err error) bool {
	return w.app >= 0 && (errors.Is(err, datasource.ErrAbsent) || w.lacked && w.Report().Time.IsZero())
}

// A feed is a source that is to be watched.
type feed struct {
	source   datasource.Source
	decode   cordon.Decoder
	lastGood string
	app      int // as in watch
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
		g.watches = append(g.watches, watch{Watch: w, app: f.app})
	}
	g.awaitRules()
	if g.cfg.Isolation == NoIsolation {
		return nil
	}
	own := ownRules{g.cfg.Isolation.preset()}
	_, err = g.eng.Watch(context.Background(), own, own.decode)
	return err
}

// awaitRules waits a moment for the first rules, and logs which are not in force.
func (g *Gateway) awaitRules() {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	timer := g.opts.clk.AfterFunc(firstWithin, func() { cancel(fmt.Errorf("nothing came within %v", firstWithin)) })
	defer timer.Stop()
	for i := range g.watches {
		w := &g.watches[i]
		if g.lackedBefore(*w) {
			w.lacked = true
			continue // its server is down, and would be waited for in vain
		}
		err := w.First(ctx)
		w.lacked = g.lackedBefore(*w)
		if err != nil && !w.mayLack(err) {
			source := w.Health().Source
			g.log.log(slog.LevelError, "rules are not in force", source, slog.String("source", source), slog.Any("error", err))
		}
	}
}

// lackedBefore reports whether a document of an app did not exist when the gateway last ran.
func (g *Gateway) lackedBefore(w watch) bool {
	if h := w.Health(); w.app < 0 || h.LastGood == "" || h.LastGoodError != nil || !h.Applied.IsZero() {
		return false
	}
	return slices.ContainsFunc(g.watches, func(o watch) bool { return o.app == w.app && o.Health().Stale })
}

// feeds opens the sources in the configuration's order, which is the order in which they come before each other.
func (g *Gateway) feeds() ([]feed, error) {
	var feeds []feed
	for i, r := range g.cfg.Rules {
		if !r.Nacos.given() {
			feeds = append(feeds, feed{source: file.Source(r.File), decode: r.decoder(r.Kind), lastGood: r.LastGood, app: -1})
			continue
		}
		sources, err := g.nacosSources(r)
		if err != nil {
			return nil, fmt.Errorf("gateway: rules[%d].nacos: %w", i, err)
		}
		for _, s := range sources {
			f := feed{source: s.Source, decode: r.decoder(r.Kind), lastGood: r.LastGood, app: -1}
			if r.Nacos.App != "" {
				f.decode, f.app = r.decoder(s.Kind), i
				if r.LastGood != "" {
					f.lastGood = filepath.Join(r.LastGood, fileName(s.Source.Name()))
				}
			}
			feeds = append(feeds, f)
		}
	}
	return feeds, nil
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
