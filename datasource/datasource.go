// Package datasource brings documents from where rules are kept (a file, a config centre)
// to whoever applies them.
//
// A Source is bytes and a version; it knows nothing of rules. A Pump runs one source:
// it debounces, skips what is identical, keeps the last good document in force, restarts a source that
// failed with growing pauses, and tells how it is doing.
package datasource

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// A Document is one version of what a source holds.
type Document struct {
	// Data is the content. Whoever receives it must not change it.
	Data []byte
	// Version names this content for people: a modification time, a hash, a revision.
	Version string
}

// An Update is what a source has to say: a document, or why there is none right now.
type Update struct {
	// Document is the content when Err is nil.
	Document Document
	// Err says why the document could not be had: ErrAbsent, a permission, a connection.
	// It never clears rules.
	Err error
}

// ErrAbsent says that the document does not exist (yet, or any more).
var ErrAbsent = errors.New("document does not exist")

// A Source delivers the content of one document and of every change of it.
type Source interface {
	// Name identifies the source in reports, logs and snapshots, as "file:/etc/app/rules.yaml".
	Name() string
	// Watch calls deliver with what the source holds now, and then whenever that may have
	// changed (too often is harmless, late is not), from one goroutine at a time, until ctx is done or the source cannot go on.
	// It returns only after the last call of deliver has. A nil or context error after ctx is done is a clean end; any
	// other return makes the pump call Watch again after a pause.
	Watch(ctx context.Context, deliver func(Update)) error
}

// Health tells how a source is doing.
type Health struct {
	// Source is the source's name.
	Source string
	// Version is that of the document in force, "" before the first.
	Version string
	// Applied is when the document in force was applied; zero before the first.
	Applied time.Time
	// LastSuccess is when the source last delivered a readable, accepted (or identical) document.
	LastSuccess time.Time
	// LastFailure is when the source or its document last failed; zero if never.
	LastFailure time.Time
	// LastError is the failure that came after the last success; nil while all is well.
	LastError error
	// Updates and Failures count applied documents and failures of any kind.
	Updates, Failures int64
	// Running is false once the pump has ended.
	Running bool
}

// PumpOptions adjusts a Pump. The zero value holds the defaults.
type PumpOptions struct {
	// Clock is the clock used for pauses; default clock.System().
	Clock clock.Clock
	// Logger receives failures and recoveries, rate-limited; default: none.
	Logger *slog.Logger
	// Debounce is how long a source must be quiet before its newest document is applied, so
	// that a burst of writes is one update; default 50ms, negative for none. The first document is applied at once,
	// and a stream of changes cannot delay an update by more than ten times this.
	Debounce time.Duration
	// MinBackoff and MaxBackoff bound the pause before a failed source is watched again
	// (doubling, jittered by ±20%); defaults 200ms and 30s.
	MinBackoff, MaxBackoff time.Duration
}

// A Pump runs one source until it is closed. All its methods are safe for concurrent use.
type Pump struct{}

// Start runs src in one goroutine of its own: every new content is given to apply. An error
// of apply leaves the last good document in force and is shown by Health; identical content is
// offered again only after a different one came between (a refused document is not re-offered while it stays the same).
func Start(ctx context.Context, src Source, apply func(Document) error, opts PumpOptions) *Pump {
	panic("stub")
}

// First waits until the source's first document was applied or refused, or it said that there is none, or
// ctx is done. It returns nil once a document has been applied.
func (p *Pump) First(ctx context.Context) error { panic("stub") }

// Health returns how the source is doing now.
func (p *Pump) Health() Health { panic("stub") }

// Close ends the source and waits until it has. It is idempotent.
func (p *Pump) Close() error { panic("stub") }
