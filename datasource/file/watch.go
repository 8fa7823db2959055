package file

import (
	"context"
	"fmt"
	"time"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/datasource"
)

const (
	// settle is how long the file must be at rest before it is read, and the least pause between two looks.
	settle = 20 * time.Millisecond
	// maxSettle is how long a file that does not come to rest can put off being read.
	maxSettle = 150 * time.Millisecond
	// grace is how long a file that was emptied, or was good and cannot be read now, has to become good (again) before that is told.
	grace = 200 * time.Millisecond
	// tornGrace is how long a file may keep changing under every attempt to read it before that is told.
	tornGrace = time.Second
	// timeGrain is more than the coarsest resolution of modification times in use (2s, FAT): two states of a file with one
	// size and one time are told apart only by reading once the time is older than this.
	timeGrain = 3 * time.Second
	// fullLook is which poll reads the content even if time and size are the same, and asks again for notices.
	fullLook = 10
)

// watch is one call of Watch. Only its goroutine uses it.
type watch struct {
	*source
	clock   clock.Clock
	deliver func(datasource.Update)

	notices *notices // nil while there are none to be had
	// noticesErr says why there are none, or not all.
	noticesErr error

	// said is what was delivered last.
	said content
	// seen is the file's state when it was last looked at, which it has had since seenSince. verified says that its
	// content was read when the time in it was old enough to be trusted.
	seen      state
	seenSince time.Duration
	verified  bool

	// dirty is true from a sign of change until the file has been read: the time of the first sign, of the next look, of the last one.
	dirty                        bool
	dirtySince, lookAt, lookedAt time.Duration
	// pollAt is when the file is looked at without a sign, polls counts that.
	pollAt time.Duration
	polls  int
}

// run watches until ctx is done.
func (w *watch) run(ctx context.Context) {
	defer w.dropNotices()
	w.pollAt = w.clock.Now() + w.opts.Poll
	w.lookNow()
	for {
		timer := w.clock.NewTimer(w.untilNext())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-w.notices.changed():
			timer.Stop()
			w.suspect()
		case <-timer.C():
			if w.dirty {
				w.look()
			} else {
				w.poll()
			}
		}
	}
}

// untilNext returns how long there is nothing to do unless a notice comes.
func (w *watch) untilNext() time.Duration {
	if w.dirty {
		return w.lookAt - w.clock.Now()
	}
	return w.pollAt - w.clock.Now()
}

// poll looks for changes without a notice.
func (w *watch) poll() {
	w.pollAt = w.clock.Now() + w.opts.Poll
	w.polls++
	switch {
	case !w.seen.same(stateOf(w.full)):
		w.suspect()
	case !w.verified || w.polls%fullLook == 0:
		w.lookNow()
	}
}

// suspect notes a sign of change. The look at it waits until there are no more signs for a while.
func (w *watch) suspect() {
	now := w.clock.Now()
	w.see(stateOf(w.full), now)
	if !w.dirty {
		w.dirty, w.dirtySince = true, now
	}
	w.lookAt = max(min(now+settle, w.dirtySince+maxSettle), w.lookedAt+settle)
}

// see notes the file's state. It reports whether that is a new one.
func (w *watch) see(s state, now time.Duration) bool {
	if w.seen.same(s) {
		return false
	}
	w.seen, w.seenSince, w.verified = s, now, false
	return true
}

// lookNow looks without having waited.
func (w *watch) lookNow() {
	now := w.clock.Now()
	w.see(stateOf(w.full), now)
	w.dirty, w.dirtySince = true, now
	w.look()
}

// look reads the file and delivers what is new, or says when to look again.
func (w *watch) look() {
	now := w.clock.Now()
	dirtyFor := now - w.dirtySince
	w.lookedAt, w.lookAt = now, now+settle
	if w.see(stateOf(w.full), now) && dirtyFor < maxSettle {
		return
	}
	// First the watches, then the content: what changes after it was read has a watch on it.
	calm := w.watchFolders()
	c := w.read()
	switch {
	case c.torn && dirtyFor < tornGrace:
		return
	case c.torn:
		w.lookAt = now + maxSettle
		w.say(c)
		return
	case !c.good() && (w.said.good() || c.empty()) && dirtyFor < grace:
		return
	}
	w.dirty = !calm
	w.verified = now-w.seenSince >= timeGrain
	w.say(c)
}

// say delivers c unless that was delivered last, and after a document why there are no notices.
func (w *watch) say(c content) {
	c.noticesErr = w.noticesErr
	if c.same(w.said) {
		return
	}
	w.deliver(c.update())
	w.said = c
	w.said.data = nil
	if c.err == nil && c.noticesErr != nil {
		w.deliver(datasource.Update{Err: fmt.Errorf("%w, looking every %v: %w", ErrPolling, w.opts.Poll, c.noticesErr)})
	}
}
