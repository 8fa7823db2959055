package datasource

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// ErrClosed says that the pump ended before a document was applied.
var ErrClosed = errors.New("pump is closed")

// ErrClosing is returned by a Close that was called from within apply or the source, and so could not wait:
// the pump ends once that call returns.
var ErrClosing = errors.New("pump is closing: called from within, it ends once the call into it returns")

// A Pump runs one source until it is closed. All its methods are safe for concurrent use.
//
// It uses two goroutines: one is in the source's Watch (or in the pause before the next), the other debounces and
// applies. With a last-good file a third one reads and writes that. A panic of the source or of apply is a failure like any other and goes no further.
type Pump struct {
	src   Source
	apply func(Document) error
	opts  PumpOptions // with defaults
	clock clock.Clock
	log   *failureLog

	ctx     context.Context // done once the pump is to end
	cancel  context.CancelFunc
	wake    chan struct{} // holds at most one: a document is pending, or none will ever be
	settled chan struct{} // closed once First has something to say
	done    chan struct{} // closed once both goroutines have ended
	running atomic.Int32  // goroutines that have not ended

	// With a last-good file: what it held comes by recalled, toSave holds at most one (a document is to be saved), and worked is closed once nothing
	// will be applied any more.
	file     savedFile
	recalled chan recalled
	toSave   chan struct{}
	worked   chan struct{}

	mu     sync.Mutex // guards all below; never held while calling the source, apply or the logger
	health Health     // its Source is never written after Start
	seq    uint64     // of the newest event
	// failSeq is the event that health.LastError belongs to.
	failSeq uint64
	// outcome is what First returns as long as no document has been applied.
	outcome error

	// optional says that there need not be a document, had that there was one: since the start, or in the last-good file. optional is never written after Start.
	optional, had bool

	// pending is the newest document not yet looked at. There has been one since pendingSince, with the content
	// it has since pendingChanged.
	pending                      *delivery
	pendingSince, pendingChanged time.Duration
	// gaveUp is true once the source has failed for good.
	gaveUp bool
	// offering is true while the worker deals with a document it has taken, or with the last-good file.
	offering bool
	// spoken is true once a document of the source, not of the last-good file, has been put in force or found to be so.
	spoken bool
	// unsaved is what is in force as long as the last-good file does not hold it.
	unsaved *unsaved
	// offered is the content that apply was last asked about (or would have been, had it not been in force), with apply's answer.
	offered verdict
	// inForce is the content last applied.
	inForce verdict

	// goroutines are the ids of the pump's goroutines: see inside.
	goroutines []string
}

// A delivery is a document on its way.
type delivery struct {
	doc Document
	sum [sha256.Size]byte
	seq uint64
	at  time.Duration
}

// An unsaved is a document that is to be put into the last-good file, or what write gives in its place if there is that.
type unsaved struct {
	savedDocument
	write func() ([]byte, error)
}

// A verdict is what apply said of some content.
type verdict struct {
	known bool
	sum   [sha256.Size]byte
	err   error
}

// is reports whether the verdict is about this content.
func (v verdict) is(sum [sha256.Size]byte) bool { return v.known && v.sum == sum }

// Start runs src until ctx is done or the pump is closed: every new content is given to apply, one at a time. An error
// of apply leaves the last good document in force and is shown by Health; identical content is
// offered again only after a different one came between (a refused document is not re-offered while it stays the same,
// nor is the document in force when the source returns to it from a refused one).
//
// With PumpOptions.LastGood the document in that file is given to apply first (Document.Saved tells), and what the source delivers meanwhile after it. If the source then has the same
// content, that is in force already; but what the file holds in a document's place (PumpOptions.InForce) is not the source's content.
//
// A nil ctx counts as context.Background(). Start panics if src or apply is nil.
func Start(ctx context.Context, src Source, apply func(Document) error, opts PumpOptions) *Pump {
	p := newPump(ctx, src, apply, opts)
	p.start()
	return p
}

// newPump returns a pump that does not run yet.
func newPump(ctx context.Context, src Source, apply func(Document) error, opts PumpOptions) *Pump {
	if src == nil || apply == nil {
		panic("datasource: Start needs a source and a function to apply its documents")
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if d, ok := src.(Debouncer); ok && opts.Debounce == 0 {
		opts.Debounce = cmp.Or(d.Debounce(), -1)
	}
	opts = opts.withDefaults()
	o, ok := src.(Optional)
	p := &Pump{
		optional: ok && o.Optional(),
		src:      src,
		apply:    apply,
		opts:     opts,
		clock:    opts.Clock,
		wake:     make(chan struct{}, 1),
		settled:  make(chan struct{}),
		done:     make(chan struct{}),
		health:   Health{Source: nameOf(src), Running: true},
	}
	p.log = newFailureLog(opts.Logger, p.health.Source, opts.Clock)
	p.ctx, p.cancel = context.WithCancel(ctx)
	if opts.LastGood != "" {
		p.remember()
	}
	return p
}

// start starts the pump's goroutines.
func (p *Pump) start() {
	bodies := map[string]func(){"source": p.watch, "apply": p.work}
	if p.opts.LastGood != "" {
		bodies["last-good file"] = p.keep
	}
	p.running.Store(int32(len(bodies)))
	for what, body := range bodies {
		go p.run(body, what)
	}
}

// nameOf returns the source's name even if it cannot say it.
func nameOf(src Source) (name string) {
	err := guard("Name", func() error {
		name = src.Name()
		return nil
	})
	if err != nil {
		return fmt.Sprintf("%T", src)
	}
	return name
}

// remember prepares what a pump with a last-good file needs.
func (p *Pump) remember() {
	p.file = newSavedFile(p.opts.LastGood, p.health.Source)
	p.recalled, p.toSave, p.worked = make(chan recalled, 1), make(chan struct{}, 1), make(chan struct{})
	p.health.LastGood = p.opts.LastGood
	p.offering = true // until the file has been read
}

// run is the frame of all goroutines: the end of one, whatever ended it, is the end of the others.
func (p *Pump) run(body func(), what string) {
	p.mu.Lock()
	p.goroutines = append(p.goroutines, goroutineID())
	p.mu.Unlock()
	defer func() {
		// Only runtime.Goexit gets here before the pump is to end.
		if p.ctx.Err() == nil {
			p.sourceFailed(fmt.Errorf("%s: %w", what, errGoexit))
		}
		p.cancel()
		if p.running.Add(-1) == 0 {
			p.mu.Lock()
			p.health.Running = false
			p.mu.Unlock()
			close(p.done)
		}
	}()
	body()
}

// First waits until the source's first document was applied or refused, or it said that there is none (ErrAbsent), or
// ctx is done. It returns nil once a document has been applied, at whatever attempt; until then the newest refusal, or
// ErrAbsent; or an error that is Permanent. Other failures of the source do not end the wait; they are in the error that ctx ends it with.
// With the document of a last-good file in force it waits for the source all the same, but any failure of the source ends the wait, and
// the result is nil whatever ended it: Health tells whether the document is stale, and how the source fails.
// That there is no document ends the wait without an error if none is needed: see Optional.
// ErrClosed says that the pump ended before. It must not be called from within apply.
func (p *Pump) First(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	var cause error
	select {
	case <-p.settled:
	case <-p.done:
		cause = ErrClosed
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.inForce.known:
		return nil
	case p.health.Absent && p.isSettled():
		return nil
	case p.outcome != nil:
		return p.outcome
	case p.health.LastError != nil:
		return fmt.Errorf("no document yet: %w: %w", cause, p.health.LastError)
	default:
		return fmt.Errorf("%s: no document yet: %w", p.health.Source, cause)
	}
}

// isSettled reports whether First need not wait.
func (p *Pump) isSettled() bool {
	select {
	case <-p.settled:
		return true
	default:
		return false
	}
}

// Close ends the source and waits until it has, and until a running apply has returned. What has not been given to apply
// by then never is. It is idempotent. Called from within apply or the source it cannot wait and returns ErrClosing, otherwise nil:
// a source that could not end cleanly shows in Health.
func (p *Pump) Close() error {
	p.cancel()
	if p.inside() {
		return ErrClosing
	}
	<-p.done
	return nil
}

// sleep waits for d. It reports whether it could: false means that the pump is to end.
func (p *Pump) sleep(d time.Duration) bool {
	t := p.clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return p.ctx.Err() == nil
	case <-p.ctx.Done():
		return false
	}
}
