package datasource

import (
	"fmt"
	"time"
)

// work applies what the source delivers until the pump is to end.
func (p *Pump) work() {
	if p.opts.LastGood != "" {
		defer close(p.worked)
		p.restore()
	}
	for {
		select {
		case <-p.ctx.Done():
			return
		case r := <-p.recalled: // later than it should have been
			if !p.spoken {
				p.recallEnded(r)
				p.restored()
			}
			continue
		case <-p.wake:
		}
		if !p.waitQuiet() {
			return
		}
		if d, ok := p.take(); ok {
			p.offer(d)
		}
		if p.isOver() {
			p.cancel()
			return
		}
	}
}

// waitQuiet waits until the pending document is due. It reports whether it is: false means that the pump is to end.
func (p *Pump) waitQuiet() bool {
	for {
		wait := p.untilQuiet()
		if wait <= 0 {
			return p.ctx.Err() == nil
		}
		if !p.sleep(wait) {
			return false
		}
	}
}

// untilQuiet returns how long the pending document has to wait yet.
func (p *Pump) untilQuiet() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.spoken {
		return 0
	}
	due := min(p.pendingChanged+p.opts.Debounce, p.pendingSince+maxDelay*p.opts.Debounce)
	return due - p.clock.Now()
}

// take takes the pending document. A second wake-up may find that there is none.
func (p *Pump) take() (delivery, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == nil {
		return delivery{}, false
	}
	d := *p.pending
	p.pending = nil
	p.offering = true
	return d, true
}

// isOver reports whether nothing more will come.
func (p *Pump) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gaveUp && p.pending == nil
}

// offer gives the document to apply unless that has nothing new to decide.
func (p *Pump) offer(d delivery) {
	if p.skip(d) {
		return
	}
	err := guard("apply", func() error { return p.apply(d.doc) })
	if err != nil {
		err = fmt.Errorf("%s: document %s refused: %w", p.health.Source, d.doc.Version, err)
		p.refused(d, err)
		return
	}
	p.applied(d)
}

// skip reports whether the document is the one in force, or the one last refused.
func (p *Pump) skip(d delivery) bool {
	p.mu.Lock()
	recovered, fresh, skipped := false, false, true
	switch {
	case p.inForce.is(d.sum):
		p.offered = p.inForce
		recovered, fresh = p.succeeded(d), p.confirmed()
		p.settle(nil)
	case p.offered.is(d.sum):
		p.stillRefused(d)
	default:
		skipped = false
	}
	if skipped {
		p.offering = false
	}
	h := p.health
	p.mu.Unlock()
	p.wentWell(d.doc.Version, h, recovered, fresh)
	return skipped
}

// stillRefused shows the refusal again if the source has said something else since: it is nothing new, but it is
// what is wrong now. The caller holds p.mu.
func (p *Pump) stillRefused(d delivery) {
	if p.failSeq > d.seq {
		return
	}
	p.failSeq = d.seq
	p.health.LastError = p.offered.err
	if !p.spoken {
		p.settle(p.offered.err)
	}
}

// refused records that apply did not accept the document.
func (p *Pump) refused(d delivery, err error) {
	p.mu.Lock()
	p.offering = false
	p.offered = verdict{known: true, sum: d.sum, err: err}
	p.health.Absent = false
	p.failed(d.seq, err)
	if !p.spoken {
		p.settle(err)
	}
	p.mu.Unlock()
	p.log.failure(err)
}

// applied records that the document is in force.
func (p *Pump) applied(d delivery) {
	write := p.instead()
	p.mu.Lock()
	p.offering = false
	p.inForce = verdict{known: true, sum: d.sum}
	p.offered = p.inForce
	p.health.Version, p.health.Absent = d.doc.Version, false
	p.health.Applied = p.wall(p.clock.Now())
	p.health.Updates++
	recovered, fresh := p.succeeded(d), p.confirmed()
	p.settle(nil)
	p.toBeSaved(d, write)
	h := p.health
	p.mu.Unlock()
	p.wentWell(d.doc.Version, h, recovered, fresh)
}

// instead asks what is to be put into the last-good file instead of the document just applied; nil for the document itself.
func (p *Pump) instead() (write func() ([]byte, error)) {
	if p.opts.LastGood == "" || p.opts.InForce == nil {
		return nil
	}
	if err := guard("InForce", func() error { write = p.opts.InForce(); return nil }); err != nil {
		return func() ([]byte, error) { return nil, err }
	}
	return write
}

// wentWell tells what a good document has ended: a failure, or staleness.
func (p *Pump) wentWell(version string, h Health, recovered, fresh bool) {
	if recovered {
		p.log.recovery(version)
	}
	if fresh {
		p.tellStale(h)
	}
}

// toBeSaved has the document just applied put into the last-good file. The caller holds p.mu.
func (p *Pump) toBeSaved(d delivery, write func() ([]byte, error)) {
	if p.opts.LastGood == "" {
		return
	}
	p.unsaved = &unsaved{savedDocument{version: d.doc.Version, at: p.health.Applied, data: d.doc.Data, sum: d.sum}, write}
	select {
	case p.toSave <- struct{}{}:
	default:
	}
}
