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
	"time"
)

// A Document is one version of what a source holds.
type Document struct {
	// Data is the content. Nobody changes it once it has been delivered: neither the source nor whoever receives it.
	Data []byte
	// Version names this content for people: a modification time, a hash, a revision.
	Version string
	// Saved tells whoever applies the document that it does not come from the source but from the last-good file (PumpOptions.LastGood), and
	// when it was put there. Otherwise it is zero, whatever the source says.
	Saved time.Time
	// InForce tells that Data is no document of the source's, but what PumpOptions.InForce gave to be saved in the place of one. Otherwise it is false, whatever the source says.
	InForce bool
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
	// other return makes the pump call Watch again after a pause, unless it is Permanent.
	//
	// The pump's deliver never waits for the document to be applied.
	Watch(ctx context.Context, deliver func(Update)) error
}

// An Optional is a Source whose document need not exist: a service has documents only of the kinds of rules that it uses. That there is none is no failure as long as there never was one, neither since the start
// nor in the last-good file: Health.Absent says it, the log does not, and Pump.First waits no longer.
type Optional interface {
	Source
	// Optional reports whether the document need not exist.
	Optional() bool
}

// A Debouncer is a Source that knows better than the default how long it must be quiet before its newest document is applied: see PumpOptions.Debounce, which it is the default of. A config centre
// never delivers half a document, and so may be 0 or less, for none.
type Debouncer interface {
	Source
	// Debounce returns how long.
	Debounce() time.Duration
}
