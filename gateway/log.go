package gateway

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/cordon-go/cordon/clock"
)

const (
	// logEvery is how often one kind of message is logged at most; what is left out is counted and told with the next.
	logEvery = 5 * time.Second
	// maxLogKeys bounds the kinds of messages told apart; others share one.
	maxLogKeys = 1000
)

// A limitedLog logs each kind of message at most once per logEvery, so that trouble does not fill disks. The nil logger logs
// nothing. It is safe for concurrent use.
type limitedLog struct {
	logger *slog.Logger
	clk    clock.Clock

	mu   sync.Mutex // guards seen
	seen map[string]*logState
}

type logState struct {
	next    time.Duration // the reading from which on it may be logged again
	skipped int64
}

func newLimitedLog(logger *slog.Logger, clk clock.Clock) *limitedLog {
	return &limitedLog{logger: logger, clk: clk, seen: map[string]*logState{}}
}

// enabled reports whether anybody listens.
func (l *limitedLog) enabled(level slog.Level) bool {
	return l.logger != nil && l.logger.Enabled(context.Background(), level)
}

// log logs a message unless one of its kind was just logged. The kind is the message with key.
func (l *limitedLog) log(level slog.Level, msg, key string, attrs ...slog.Attr) {
	if !l.enabled(level) {
		return
	}
	skipped, due := l.due(msg + " " + key)
	if !due {
		return
	}
	if skipped > 0 {
		attrs = append(attrs, slog.Int64("skipped", skipped))
	}
	l.logger.LogAttrs(context.Background(), level, msg, attrs...)
}

func (l *limitedLog) due(key string) (skipped int64, due bool) {
	now := l.clk.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.seen[key]
	if s == nil {
		if len(l.seen) >= maxLogKeys {
			key = ""
		}
		if s = l.seen[key]; s == nil {
			s = &logState{next: now}
			l.seen[key] = s
		}
	}
	if now < s.next {
		s.skipped++
		return 0, false
	}
	skipped, s.skipped = s.skipped, 0
	s.next = now + logEvery
	return skipped, true
}

// std returns a logger for a part of the standard library, whose lines are limited as a whole.
func (l *limitedLog) std(from string) *log.Logger {
	return log.New(&lineWriter{l, from}, "", 0)
}

type lineWriter struct {
	log  *limitedLog
	from string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.log.log(slog.LevelWarn, w.from, "", slog.String("text", strings.TrimSpace(string(p))))
	return len(p), nil
}
