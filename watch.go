package cordon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/rule"
)

// Decoded is what a decoder made of a document.
type Decoded struct {
	// Rules are the good rules.
	Rules Rules
	// Problems are the faults of refused rules, and warnings. Each fault has Kind, RuleID and Resource set as far as they are known, so that the last good version can stay in force: that of the same id, or else
	// what there is for the same resource, or else all rules that the document does not have.
	Problems rule.Problems
	// Partial asks to apply the good rules although others were refused; otherwise a fault in Problems refuses the document.
	Partial bool

	// paramAt is where the rules on hot parameters, by id, have their paths: whether an engine knows the extractors in them is told only when it gets them.
	paramAt map[string]rule.Position
}

// Decoder reads a document. The error says that it cannot be read as a whole. source names the document in messages.
type Decoder func(source string, data []byte) (Decoded, error)

// WatchOption adjusts Watch.
type WatchOption interface{ applyWatch(*watchConfig) }

type watchOptionFunc func(*watchConfig)

func (f watchOptionFunc) applyWatch(c *watchConfig) { f(c) }

type watchConfig struct {
	firstWithin time.Duration
	onBadRule   *BadRulePolicy
	pump        datasource.PumpOptions
}

// FirstWithin bounds how long Watch waits for the first document; default 5s, 0 does not wait.
func FirstWithin(d time.Duration) WatchOption {
	return watchOptionFunc(func(c *watchConfig) { c.firstWithin = d })
}

// OnBadRule says what becomes of a readable document with bad rules, instead of what the decoder wants.
func OnBadRule(p BadRulePolicy) WatchOption {
	return watchOptionFunc(func(c *watchConfig) { c.onBadRule = &p })
}

// Debounce says how long a source must be quiet before its newest document is applied; default what the source says (datasource.Debouncer), or 50ms; negative for none.
func Debounce(d time.Duration) WatchOption {
	return watchOptionFunc(func(c *watchConfig) { c.pump.Debounce = d })
}

// LastGood names a file that keeps the source's document last applied: a process that starts while its source is down starts with the rules
// of that document in force, marked stale (SourceSnapshot.Stale, SourceEvent) until the source has delivered a good one. Watch then waits no longer than
// until the source has said anything at all, and its failing is no error. The file belongs to this source alone; processes that watch
// the same source may share it. Default "": none. See datasource.PumpOptions.LastGood.
func LastGood(path string) WatchOption {
	return watchOptionFunc(func(c *watchConfig) { c.pump.LastGood = path })
}

// BadRulePolicy says what becomes of a readable document with bad rules.
type BadRulePolicy uint8

const (
	// RefuseDocument leaves the rules in force as they are.
	RefuseDocument BadRulePolicy = iota
	// KeepGood applies the good rules, and in place of a bad one its last good version if there was one. Where the bad one's id tells of none, the rules for its resource stay that the document does not have any more; and
	// where nobody can tell what it is for, all of these.
	KeepGood
)

// Watch is a source that an engine takes rules from. Its methods are safe for concurrent use.
type Watch struct {
	pump   *datasource.Pump
	owner  *owner
	report atomic.Pointer[rule.Report]
	// applied is the report on the document in force, nil without one.
	applied atomic.Pointer[rule.Report]
	// done is done once the watch is to end by itself.
	done context.Context
	// lastGood is the path of the last-good file, "" for none.
	lastGood string
	// newer is the age of the rules that the watch before, whose place this one has taken, has left in force; zero without one. It does not change once the pump runs.
	newer time.Time
}

// Watch puts a source's rules in force, now and at every change, until ctx is done or the watch or the engine is closed. It waits for
// the first document (see FirstWithin). An error says why no rules of the source are in force yet; the source goes on being watched all the same, so that
// a service can start without it. A document that cannot be read or is refused leaves the rules in force as they are.
//
// Every source owns the rules it brought. Where two bring a rule of one kind with one id, that of the source watched
// earlier stays, and the report on the later says so. Rules given by Apply come before all sources. A source of the name of one whose watch has ended
// takes that one's place and rules.
//
// An error that no waiting mends (datasource.IsPermanent), as a name that the source cannot have, is returned at once, and then the watch has ended. A source
// is watched once at a time: a second watch of one name is an error, and no watch, while the first has not ended.
func (e *Engine) Watch(ctx context.Context, src datasource.Source, dec Decoder, opts ...WatchOption) (*Watch, error) {
	c := watchConfig{firstWithin: 5 * time.Second}
	c.pump.Clock, c.pump.Logger, c.pump.OnStale = e.clock, e.cfg.logger, e.notifySource
	for _, o := range opts {
		if o != nil {
			o.applyWatch(&c)
		}
	}
	if src == nil || dec == nil {
		return nil, errors.New("cordon: Watch needs a source and a decoder: one is nil")
	}
	if ctx == nil {
		ctx = context.Background()
	}
	w := &Watch{owner: &owner{source: src.Name()}, lastGood: c.pump.LastGood, done: ctx}
	c.pump.InForce = func() func() ([]byte, error) { return e.inForce(w) }
	e.awaitEnd(w.owner.source)
	start := func() {
		w.pump = datasource.Start(ctx, src, func(d datasource.Document) error { return e.take(w, dec, c.onBadRule, d) }, c.pump)
	}
	if err := e.join(w, start); err != nil {
		return nil, fmt.Errorf("cordon: watch %s: %w", src.Name(), err)
	}
	if c.firstWithin <= 0 {
		return w, nil
	}
	first, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := e.clock.AfterFunc(c.firstWithin, func() { cancel(fmt.Errorf("no document within %v", c.firstWithin)) })
	defer timer.Stop()
	err := w.First(first)
	if datasource.IsPermanent(err) {
		w.Close()
	}
	return w, err
}

// awaitEnd waits for the end of a watch of that source that is about to.
func (e *Engine) awaitEnd(source string) {
	e.applyMu.Lock()
	i := slices.IndexFunc(e.watches, func(o *Watch) bool { return o.owner.source == source && o.done.Err() != nil })
	var ending *Watch
	if i >= 0 {
		ending = e.watches[i]
	}
	e.applyMu.Unlock()
	if ending != nil {
		ending.Close()
	}
}

// join adds a watch, which start starts, to the engine's.
func (e *Engine) join(w *Watch, start func()) error {
	e.applyMu.Lock()
	defer e.applyMu.Unlock()
	if e.closed {
		return errors.New("the engine is closed")
	}
	for _, o := range e.watches {
		if w.lastGood != "" && o.owner.source != w.owner.source && sameFile(o.lastGood, w.lastGood) {
			return fmt.Errorf("the last-good file %s is that of %s: every source needs one of its own", w.lastGood, o.owner.source)
		}
	}
	i := slices.IndexFunc(e.watches, func(o *Watch) bool { return o.owner.source == w.owner.source })
	if i >= 0 {
		if e.watches[i].pump.Health().Running {
			return errors.New("it is being watched already: close that watch first, or give the source another name if it is another one")
		}
		w.newer = e.watches[i].age()
		w.owner, e.watches[i] = e.watches[i].owner, w
	} else {
		e.owners, e.watches = append(e.owners, w.owner), append(e.watches, w)
	}
	start()
	return nil
}

// sameFile reports whether two paths are one, as far as their text tells.
func sameFile(a, b string) bool {
	absA, errA := filepath.Abs(a)
	absB, errB := filepath.Abs(b)
	return a != "" && b != "" && errA == nil && errB == nil && absA == absB
}

// age returns when the rules in force of a watch's source were its newest ones; zero if it has none.
func (w *Watch) age() time.Time {
	h := w.pump.Health()
	switch {
	case h.Stale:
		return h.StaleSince
	case h.Updates > 0:
		return h.Applied
	}
	return w.newer
}

// take decodes and applies one document of a watched source.
func (e *Engine) take(w *Watch, dec Decoder, policy *BadRulePolicy, d datasource.Document) error {
	source := w.owner.source
	if !d.Saved.IsZero() && w.newer.After(d.Saved) {
		return fmt.Errorf("it is older than the rules in force, those of the watch before, which are of %v", w.newer)
	}
	rep := rule.Report{Source: source, Version: d.Version, Saved: d.Saved}
	if d.InForce {
		dec = Native
	}
	decoded, err := dec(source, d.Data)
	if err != nil {
		rep.Problems = problemsOf(err, source)
		e.stamp(&rep)
		w.report.Store(&rep)
		e.notifyReport(rep)
		return err
	}
	keepGood := decoded.Partial
	if policy != nil {
		keepGood = *policy == KeepGood
	}
	keepGood = keepGood || d.InForce // since the document was not refused whole either
	rep = e.apply(w.owner, decoded, keepGood, rep)
	w.report.Store(&rep)
	if !rep.Applied {
		return rep.Problems.Err()
	}
	w.applied.Store(&rep)
	return nil
}

// inForce returns what writes the rules of a source for the last-good file, nil if they are just those of the document last applied. A document that was applied in part does not say what is in force: the
// last good versions of what was refused are not in it.
func (e *Engine) inForce(w *Watch) func() ([]byte, error) {
	if rep := w.applied.Load(); rep == nil || rep.OK() {
		return nil
	}
	e.applyMu.Lock()
	refs := w.owner.rules
	e.applyMu.Unlock()
	return func() ([]byte, error) {
		root, err := encodeRules(refs.deref())
		if err != nil {
			return nil, fmt.Errorf("the rules in force: %w", err)
		}
		return root.JSON(), nil
	}
}

// problemsOf returns the problems in an error, or makes one of it.
func problemsOf(err error, source string) rule.Problems {
	var list rule.Problems
	if errors.As(err, &list) {
		return list
	}
	var one rule.Problem
	if errors.As(err, &one) {
		return rule.Problems{one}
	}
	return rule.Problems{{Source: source, Index: -1, Message: err.Error()}}
}

// First waits until rules of the source are in force, and the source has said something if they come from the last-good file, or until ctx is done. The error says why none are: what is wrong with the document, that there is none, or why ctx is done. Who watches several
// sources can have all begin, with FirstWithin(0), and wait for them together.
func (w *Watch) First(ctx context.Context) error {
	if err := w.pump.First(ctx); err != nil {
		return fmt.Errorf("cordon: no rules of %s are in force yet: %w", w.owner.source, err)
	}
	return nil
}

// Health returns how the source is doing.
func (w *Watch) Health() datasource.Health { return w.pump.Health() }

// Report returns the report on the newest document; the zero report before the first.
func (w *Watch) Report() rule.Report {
	if r := w.report.Load(); r != nil {
		return *r
	}
	return rule.Report{Source: w.owner.source}
}

// Close ends the watch and waits until it has. Its rules stay in force. It must not be called from an observer of reports.
func (w *Watch) Close() error { return w.pump.Close() }
