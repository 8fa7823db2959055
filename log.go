package cordon

import (
	"context"
	"log/slog"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/rule"
)

// The engine's own log lines are few by nature; the limit is for when they are not.
const (
	logRate  = 5 // lines a second
	logBurst = 20
)

// logger is a slog.Logger that may be absent and never floods.
type logger struct {
	l       *slog.Logger
	clock   clock.Clock
	limit   *rate.Limiter
	dropped atomic.Int64
	faults  *atomic.Int64 // the engine's
}

func newLogger(l *slog.Logger, clk clock.Clock, faults *atomic.Int64) *logger {
	return &logger{l: l, clock: clk, limit: rate.NewLimiter(logRate, logBurst), faults: faults}
}

func (g *logger) write(level slog.Level, msg string, args ...any) {
	if g.l == nil {
		return
	}
	if !g.limit.AllowN(g.clock.Wall(g.clock.Now()), 1) {
		g.dropped.Add(1)
		return
	}
	defer func() {
		if recover() != nil { // the handler, which is the user's, panicked; there is no other place to say so
			g.faults.Add(1)
		}
	}()
	if n := g.dropped.Swap(0); n > 0 {
		args = append(args, "droppedBefore", n)
	}
	g.l.Log(context.Background(), level, "cordon: "+msg, args...)
}

func (g *logger) info(msg string, args ...any) { g.write(slog.LevelInfo, msg, args...) }
func (g *logger) warn(msg string, args ...any) { g.write(slog.LevelWarn, msg, args...) }

// report logs what became of a set of rules.
func (g *logger) report(r rule.Report) {
	if g.l == nil {
		return
	}
	level := slog.LevelInfo
	args := []any{"source", r.Source, "version", r.Version, "applied", r.Applied, "added", len(r.Added),
		"changed", len(r.Changed), "removed", len(r.Removed), "unchanged", r.Unchanged, "kept", len(r.Kept)}
	if !r.Saved.IsZero() {
		args = append(args, "lastGood", r.Saved)
	}
	if len(r.Problems) > 0 {
		level = slog.LevelWarn
		args = append(args, "problems", r.Problems.Error())
	}
	g.write(level, "rules", args...)
}
