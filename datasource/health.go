package datasource

import (
	"errors"
	"fmt"
	"time"
)

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
	// LastError is the failure that came after the last success; nil while all is well. What came after what is
	// decided by the order in which the source spoke, not by how long applying took.
	LastError error
	// Absent is true while there is no document and none is needed (Optional): the source has said so, and never had one. It may fail meanwhile.
	Absent bool
	// Updates and Failures count applied documents, one from the last-good file included, and failures of the source and its documents.
	Updates, Failures int64
	// Stale is true while the document in force is one from the last-good file that the source has not delivered yet since the start. A source that fails later does not
	// make what it has delivered stale: LastError and LastSuccess tell that.
	Stale bool
	// StaleSince is when the stale document was put into the last-good file, that is when an earlier process applied it; zero unless Stale.
	StaleSince time.Time
	// LastGood is the path of the last-good file, "" if there is none.
	LastGood string
	// LastGoodError says what is wrong with the last-good file: it could not be read, its document was refused, or it could not be written; nil while all is well. It
	// ends once a document has been written.
	LastGoodError error
	// Running is false once the pump has ended.
	Running bool
}

// Health returns how the source is doing now.
func (p *Pump) Health() Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.health
}

// nextSeq gives every delivery and failure its place in the order of events. The caller holds p.mu.
func (p *Pump) nextSeq() uint64 {
	p.seq++
	return p.seq
}

// sourceFailed records that the source could not say what it holds.
func (p *Pump) sourceFailed(err error) {
	err = fmt.Errorf("%s: %w", p.health.Source, err)
	absent, permanent := errors.Is(err, ErrAbsent), IsPermanent(err)
	p.mu.Lock()
	if absent && p.optional && !p.had {
		p.lack()
		return
	}
	p.failed(p.nextSeq(), err)
	if absent {
		p.health.Absent = false
	}
	quiet := p.health.Absent && !permanent // nothing of it is in force, and those with documents tell of the outage
	// A document on its way decides what First says, not the failure that came after it.
	if (absent || permanent || p.health.Stale) && p.pending == nil && !p.offering {
		p.settle(err)
	}
	p.mu.Unlock()
	if !quiet {
		p.log.failure(err)
	}
}

// lack records that there is no document, and that none is needed. As long as the last-good file has not been read it is not known whether there was one before. The caller holds p.mu, which is unlocked.
func (p *Pump) lack() {
	ended := p.health.LastError != nil && !p.health.Absent
	p.health.Absent, p.health.LastError = true, nil
	if !p.offering {
		p.settle(nil)
	}
	p.mu.Unlock()
	if ended {
		p.log.lacks()
	}
}

// failed counts a failure, and shows it unless a newer event is known. The caller holds p.mu.
func (p *Pump) failed(seq uint64, err error) {
	p.health.Failures++
	p.health.LastFailure = p.wall(p.clock.Now())
	if seq >= p.failSeq {
		p.failSeq = seq
		p.health.LastError = err
	}
}

// succeeded records that the delivered document is good. It reports whether that ends a failure. The caller holds p.mu.
func (p *Pump) succeeded(d delivery) (recovered bool) {
	p.health.LastSuccess = p.wall(d.at)
	if p.health.LastError == nil || p.failSeq > d.seq {
		return false
	}
	p.health.LastError = nil
	return true
}

// settle tells First how the first document fared, or the newest one as long as none was applied. The caller holds p.mu.
func (p *Pump) settle(err error) {
	p.outcome = err
	select {
	case <-p.settled:
	default:
		close(p.settled)
	}
}

// wall converts a reading of the pump's clock for people.
func (p *Pump) wall(reading time.Duration) time.Time { return p.clock.Wall(reading) }
