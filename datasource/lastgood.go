package datasource

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// lastGoodWait bounds how long the source's first document waits for the last-good file to be read: a disk that hangs must not keep rules away.
const lastGoodWait = time.Second

var (
	errLastGoodSlow = errors.New("could not be read within " + lastGoodWait.String())
	errRefused      = errors.New("its document is refused")
)

// keep reads the last-good file, and then writes into it what is applied, until nothing will be applied any more and all that was is written. It has a
// goroutine of its own, so that a slow disk holds up no rules.
func (p *Pump) keep() {
	p.recalled <- p.recall()
	pauses := backoff{least: p.opts.MinBackoff, most: p.opts.MaxBackoff}
	for {
		select {
		case <-p.toSave:
		case <-p.worked:
			p.save()
			return
		}
		pauses.reset()
		for !p.save() {
			if !p.pause(pauses.next()) {
				p.save()
				return
			}
		}
	}
}

// pause waits for d, or for another document to be saved. It reports whether there is more to do than a last attempt.
func (p *Pump) pause(d time.Duration) bool {
	t := p.clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-p.toSave:
		return true
	case <-p.worked:
		return false
	}
}

// recalled is what the last-good file holds: nothing if both are nil.
type recalled struct {
	saved *savedDocument
	err   error
}

// recall reads the last-good file.
func (p *Pump) recall() (r recalled) {
	err := guard("last-good file", func() (err error) {
		p.file.sweep(p.wall(p.clock.Now()))
		r.saved, err = p.file.read()
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return recalled{} // the first start
	case err != nil:
		return recalled{err: err}
	}
	return r
}

// save writes the document to be saved, if there is one. It reports false if that failed.
func (p *Pump) save() bool {
	p.mu.Lock()
	d := p.unsaved
	p.mu.Unlock()
	if d == nil {
		return true
	}
	err := guard("last-good file", func() error { return p.write(*d) })
	if err != nil {
		p.lastGoodFailed(err)
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.health.LastGoodError = nil
	if p.unsaved == d { // otherwise another one came meanwhile, and has said so
		p.unsaved = nil
	}
	return true
}

// write writes a document into the last-good file, or what is to be there instead.
func (p *Pump) write(d unsaved) error {
	if d.write == nil {
		return p.file.write(&d.savedDocument)
	}
	data, err := d.write()
	if err != nil {
		return err
	}
	d.data, d.sum, d.inForce = data, sha256.Sum256(data), true
	return p.file.write(&d.savedDocument)
}

// lastGoodFailed shows what is wrong with the last-good file, and logs it if it is something new.
func (p *Pump) lastGoodFailed(err error) {
	err = fmt.Errorf("%s: last-good file %s: %w", p.health.Source, p.opts.LastGood, err)
	p.mu.Lock()
	last := p.health.LastGoodError
	p.health.LastGoodError = err
	p.mu.Unlock()
	if last == nil || last.Error() != err.Error() {
		p.log.lastGood(err)
	}
}

// restore puts the last-good file's document in force, before the source's first one.
func (p *Pump) restore() {
	defer p.restored()
	timer := p.clock.NewTimer(lastGoodWait)
	defer timer.Stop()
	select {
	case r := <-p.recalled:
		p.recallEnded(r)
	case <-timer.C():
		p.lastGoodFailed(errLastGoodSlow)
	case <-p.ctx.Done():
	}
}

// recallEnded applies what the last-good file holds.
func (p *Pump) recallEnded(r recalled) {
	if r.err != nil {
		p.lastGoodFailed(r.err)
	}
	if r.saved != nil || r.err != nil {
		p.wasThere()
	}
	if r.saved == nil || p.ctx.Err() != nil {
		return
	}
	doc := Document{Data: r.saved.data, Version: r.saved.version, Saved: r.saved.at, InForce: r.saved.inForce}
	if err := guard("apply", func() error { return p.apply(doc) }); err != nil {
		p.lastGoodFailed(fmt.Errorf("%w: %w", errRefused, err))
		return
	}
	p.mu.Lock()
	p.inForce = verdict{known: true, sum: r.saved.sum}
	if doc.InForce { // whatever the source says next is another document, and its newest one is to be judged again
		p.inForce.sum = [sha256.Size]byte{}
	}
	p.offered = p.inForce
	p.health.Version = doc.Version
	p.health.Applied = p.wall(p.clock.Now())
	p.health.Updates++
	p.health.Stale, p.health.StaleSince = true, doc.Saved
	h := p.health
	p.mu.Unlock()
	p.tellStale(h)
}

// wasThere notes that there was a document when an earlier process ran: that there is none now is a failure after all, also when the source has said so already.
func (p *Pump) wasThere() {
	p.mu.Lock()
	p.had = true
	absent := p.health.Absent
	p.mu.Unlock()
	if absent {
		p.sourceFailed(ErrAbsent)
	}
}

// restored lets the source's word decide from now on, also that which it has had already.
func (p *Pump) restored() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offering = false
	if p.health.Absent && p.pending == nil {
		p.settle(nil)
	}
	if err := p.health.LastError; err != nil && p.pending == nil && (p.inForce.known || errors.Is(err, ErrAbsent) || IsPermanent(err)) {
		p.settle(err)
	}
}

// confirmed notes that the document in force is the source's. It reports whether it was stale until then. The caller holds p.mu.
func (p *Pump) confirmed() (fresh bool) {
	p.spoken = true
	fresh = p.health.Stale
	p.health.Stale, p.health.StaleSince = false, time.Time{}
	return fresh
}

// tellStale tells whoever asked that staleness began or ended.
func (p *Pump) tellStale(h Health) {
	if p.opts.OnStale == nil {
		return
	}
	err := guard("OnStale", func() error {
		p.opts.OnStale(h)
		return nil
	})
	if err != nil {
		p.log.failure(err)
	}
}
