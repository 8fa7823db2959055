package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
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
	// optional says that the document need not exist: an app has documents only of the kinds of rules it uses.
	optional bool
}

// mayLack reports whether the source says that there is no document where none is needed.
func (w watch) mayLack(err error) bool { return w.optional && errors.Is(err, datasource.ErrAbsent) }

// A feed is a source that is to be watched.
type feed struct {
	source   datasource.Source
	decode   cordon.Decoder
	lastGood string
	optional bool
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
		g.watches = append(g.watches, watch{w, f.optional})
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
	for _, w := range g.watches {
		if err := w.First(ctx); err != nil && !w.mayLack(err) {
			source := w.Health().Source
			g.log.log(slog.LevelError, "rules are not in force", source, slog.String("source", source), slog.Any("error", err))
		}
	}
}

// feeds opens the sources in the configuration's order, which is the order in which they come before each other.
func (g *Gateway) feeds() ([]feed, error) {
	var feeds []feed
	for i, r := range g.cfg.Rules {
		if !r.Nacos.given() {
			feeds = append(feeds, feed{source: file.Source(r.File), decode: r.decoder(r.Kind), lastGood: r.LastGood})
			continue
		}
		sources, err := g.nacosSources(r)
		if err != nil {
			return nil, fmt.Errorf("gateway: rules[%d].nacos: %w", i, err)
		}
		for _, s := range sources {
			f := feed{source: s.Source, decode: r.decoder(r.Kind), lastGood: r.LastGood}
			if r.Nacos.App != "" {
				f.decode, f.optional = r.decoder(s.Kind), true
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
