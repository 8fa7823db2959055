package datasource

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/cordon-go/cordon/clock"
)

const (
	logBurst = 6
	logEvery = 10 * time.Second
)

// failureLog is the pump's log: a source that fails in a loop does not flood it.
type failureLog struct {
	logger *slog.Logger // nil for none
	source string
	clock  clock.Clock

	mu      sync.Mutex // guards all below
	limiter *rate.Limiter
	leftOut int // lines since the last one written
}

func newFailureLog(logger *slog.Logger, source string, c clock.Clock) *failureLog {
	return &failureLog{
		logger:  logger,
		source:  source,
		clock:   c,
		limiter: rate.NewLimiter(rate.Every(logEvery), logBurst),
	}
}

func (l *failureLog) failure(err error) {
	attrs := []slog.Attr{slog.Any("error", err)}
	if caught, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(caught.stack)))
	}
	l.write(slog.LevelWarn, "source failed, what was in force stays", attrs)
}

func (l *failureLog) lastGood(err error) {
	l.write(slog.LevelWarn, "last-good file failed, the source goes on without", []slog.Attr{slog.Any("error", err)})
}

func (l *failureLog) recovery(version string) {
	l.write(slog.LevelInfo, "source recovered", []slog.Attr{slog.String("version", version)})
}

func (l *failureLog) lacks() {
	l.write(slog.LevelInfo, "source recovered, there is no document and none is needed", nil)
}

// write writes a line unless there were too many. A logger that panics is no reason to stop.
func (l *failureLog) write(level slog.Level, msg string, attrs []slog.Attr) {
	if l.logger == nil {
		return
	}
	leftOut, ok := l.allow()
	if !ok {
		return
	}
	attrs = append(attrs, slog.String("source", l.source))
	if leftOut > 0 {
		attrs = append(attrs, slog.Int("leftOut", leftOut))
	}
	_ = guard("logger", func() error {
		l.logger.LogAttrs(context.Background(), level, msg, attrs...)
		return nil
	})
}

// allow reports whether a line may be written now, and how many were left out before it.
func (l *failureLog) allow() (leftOut int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.limiter.AllowN(l.clock.Wall(l.clock.Now()), 1) {
		l.leftOut++
		return 0, false
	}
	leftOut, l.leftOut = l.leftOut, 0
	return leftOut, true
}
