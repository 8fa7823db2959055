package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/sentinel"
)

// follow takes rules from every document of the service, and keeps copies in a folder for a start without the server. Each document is a source of its own: one that is broken or missing takes nothing from the others.
func follow(ctx context.Context, eng *cordon.Engine, client *nacos.Client, folder string) error {
	own, err := eng.Watch(ctx, client.Source("shop-rules.yaml"), cordon.Native, cordon.FirstWithin(0), cordon.LastGood(filepath.Join(folder, "shop-rules.yaml")))
	if err != nil {
		return err
	}
	watches := []*cordon.Watch{own}
	for _, d := range client.Sentinel("shop") {
		kind, err := sentinel.ParseKind(d.Kind)
		if err != nil {
			return err
		}
		kept := cordon.LastGood(filepath.Join(folder, "shop-"+d.Kind))
		w, err := eng.Watch(ctx, d.Source, sentinel.Decoder(kind), cordon.FirstWithin(0), kept)
		if err != nil {
			return err
		}
		watches = append(watches, w)
	}
	// All are under way by now, so that a server that is away costs one wait, not one for each.
	start, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, w := range watches {
		if err := w.First(start); err != nil {
			slog.Warn("starting without rules", "error", err)
		}
	}
	return nil
}
