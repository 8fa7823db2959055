package datasource

import (
	"fmt"
	"time"
)

// work applies what the source delivers until the pump is to end.
func (p *Pump) work() {
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wake:
		}
		if !p.waitQuiet() {
			return
		}
		if d, ok := p.take(); ok {
			p.offer(d)
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
	if p.health.Updates == 0 {
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
	recovered, skipped := false, true
	switch {
	case p.inForce.is(d.sum):
		p.offered = p.inForce
		recovered = p.succeeded(d)
	case p.offered.is(d.sum):
		p.stillRefused(d)
	default:
		skipped = false
	}
	if skipped {
		p.offering = false
	}
	p.mu.Unlock()
	if recovered {
		p.log.recovery(d.doc.Version)
	}
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
	if p.health.Updates == 0 {
		p.settle(p.offered.err)
	}
}

// refused records that apply did not accept the document.
func (p *Pump) refused(d delivery, err error) {
	p.mu.Lock()
	p.offering = false
	p.offered = verdict{known: true, sum: d.sum, err: err}
	p.failed(d.seq, err)
	if p.health.Updates == 0 {
		p.settle(err)
	}
	p.mu.Unlock()
	p.log.failure(err)
}

// applied records that the document is in force.
func (p *Pump) applied(d delivery) {
	p.mu.Lock()
	p.offering = false
	p.inForce = verdict{known: true, sum: d.sum}
	p.offered = p.inForce
	p.health.Version = d.doc.Version
	p.health.Applied = p.wall(p.clock.Now())
	p.health.Updates++
	recovered := p.succeeded(d)
	p.settle(nil)
	p.mu.Unlock()
	if recovered {
		p.log.recovery(d.doc.Version)
	}
}
