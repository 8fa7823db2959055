package datasource

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"time"
)

var errEnded = errors.New("watch ended without an error although nobody asked it to")

// watch keeps the source watched until the pump is to end.
func (p *Pump) watch() {
	pauses := backoff{least: p.opts.MinBackoff, most: p.opts.MaxBackoff}
	for p.ctx.Err() == nil {
		began := p.clock.Now()
		delivered, err := p.watchOnce()
		if p.ctx.Err() != nil {
			p.sourceEnded(err)
			return
		}
		if err == nil {
			err = errEnded
		}
		p.sourceFailed(err)
		if IsPermanent(err) {
			p.giveUp()
			<-p.ctx.Done()
			return
		}
		if delivered && p.clock.Now()-began >= p.opts.MaxBackoff {
			pauses.reset()
		}
		if !p.sleep(pauses.next()) {
			return
		}
	}
}

// giveUp lets the worker end the pump, since nothing more will come: once what the last-good file holds, and what has come already, was applied.
func (p *Pump) giveUp() {
	p.mu.Lock()
	p.gaveUp = true
	p.mu.Unlock()
	p.wakeUp()
}

// wakeUp makes the worker look what there is to do.
func (p *Pump) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// watchOnce calls the source's Watch. It reports whether that delivered a document.
func (p *Pump) watchOnce() (delivered bool, err error) {
	w := &watching{p: p}
	defer w.end()
	err = guard("Watch", func() error { return p.src.Watch(p.ctx, w.deliver) })
	return w.end(), err
}

// watching is one call of the source's Watch. A source that breaks its contract and delivers after
// it has returned must neither race nor bring back old content.
type watching struct {
	p *Pump
	// over and delivered are guarded by p.mu.
	over, delivered bool
}

// end makes deliver deaf. It reports whether a document was delivered before.
func (w *watching) end() (delivered bool) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.over = true
	return w.delivered
}

// deliver is what the source calls.
func (w *watching) deliver(u Update) {
	sum := sha256.Sum256(u.Document.Data) // outside the lock: it takes a while
	p := w.p
	p.mu.Lock()
	if w.over || p.ctx.Err() != nil {
		p.mu.Unlock()
		return
	}
	if u.Err == nil {
		w.delivered, p.had = true, true
		u.Document.Saved, u.Document.InForce = time.Time{}, false
		p.enqueue(u.Document, sum)
	}
	p.mu.Unlock()
	if u.Err != nil {
		p.sourceFailed(u.Err)
	}
}

// enqueue makes doc the pending document, in place of one that is pending. The caller holds p.mu.
func (p *Pump) enqueue(doc Document, sum [sha256.Size]byte) {
	now := p.clock.Now()
	if p.pending == nil {
		p.pendingSince = now
	}
	if p.pending == nil || p.pending.sum != sum {
		p.pendingChanged = now
	}
	p.pending = &delivery{doc: doc, sum: sum, seq: p.nextSeq(), at: now}
	p.wakeUp()
}

// sourceEnded records how the source ended after it was asked to.
func (p *Pump) sourceEnded(err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	p.sourceFailed(err)
}

// backoff gives growing pauses.
type backoff struct {
	least, most time.Duration
	now         time.Duration // the unjittered pause last given, 0 at the beginning
}

func (b *backoff) reset() { b.now = 0 }

// next returns the next pause: drawn evenly from the part of ±20% around the doubled one that lies within the bounds, so
// that many pumps whose pauses have reached the bound still do not come all at once.
func (b *backoff) next() time.Duration {
	switch {
	case b.now == 0:
		b.now = b.least
	case b.now > b.most/2:
		b.now = b.most
	default:
		b.now *= 2
	}
	fifth := b.now / 5
	low := max(b.now-fifth, b.least)
	high := b.most
	if b.most-b.now > fifth {
		high = b.now + fifth
	}
	return low + rand.N(high-low+1)
}
