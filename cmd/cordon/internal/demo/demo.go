// Package demo plays cordon's promises on real HTTP traffic: services on loopback whose faults are switched on and
// off, one of them of five instances, a gateway in front of the others, callers that send more than is allowed, and a rule document that is
// edited meanwhile. It judges what happens by the services' own books and says what held.
package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
)

// longest bounds a run, whatever happens. A usual one takes some 40 s.
const longest = 45 * time.Second

// Options adjusts a run.
type Options struct {
	// Keep leaves services, gateway and callers running when the chapters are over, until the context is done.
	Keep  bool
	Nacos string
}

// ErrInterrupted is the error of a run that was interrupted before its end.
var ErrInterrupted = errors.New("interrupted before the end")

// Run plays all chapters and shows what it finds. The error says why it could not be played, and not that a promise did not hold.
func Run(ctx context.Context, scr *screen.Screen, opts Options) (Summary, error) {
	return perform(ctx, scr, opts, []chapter{
		(*stage).sickInstanceIsolated, (*stage).nearlyAllFail,
		(*stage).limitHolds, (*stage).editedLive, (*stage).mistakeRefused, (*stage).breakerOpens, (*stage).concurrencyHolds, (*stage).scanFreesNobody,
	})
}

// A chapter plays a part. The error says why it could not be played to its end.
type chapter func(*stage, context.Context) error

func perform(ctx context.Context, scr *screen.Screen, opts Options, chapters []chapter) (summary Summary, err error) {
	s, err := newStage(ctx, scr, opts)
	defer func() { err = errors.Join(err, s.close()) }()
	if err != nil {
		return s.summary, err
	}
	s.introduce()
	s.play(ctx, chapters)
	if ctx.Err() != nil {
		return s.summary, ErrInterrupted
	}
	s.conclude()
	if opts.Keep {
		s.keep(ctx)
	}
	return s.summary, s.screen.Err()
}

// play plays the chapters. One that cannot be played to its end has not held, and ends the play.
func (s *stage) play(ctx context.Context, chapters []chapter) {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("not done after %v", longest))
	defer cancel()
	for i, play := range chapters {
		err := play(s, ctx)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			s.found(false, "%v", err)
			s.outcome("%v", err)
			s.summary.Unplayed = len(chapters) - i - 1
			return
		}
	}
}

func (s *stage) introduce() {
	p := s.screen
	p.Printf("%s: a service of five instances, four more behind a gateway, all on loopback, and real HTTP calls, for about 40 s.",
		p.Paint(screen.Bold, "cordon demo"))
	p.Printf("Times are short so that it can be watched: a quarantine begins with 1 s here, a breaker opens for 1 s; in earnest it is 5 s or more.\n")
	p.Printf("   gateway  %s", s.front.url)
	p.Printf("   rules    %s", s.store.place())
}

// sum completes the summary.
func (s *stage) sum() Summary {
	s.summary.Took = s.clock.Now() - s.started
	s.summary.Calls, s.summary.Refused, s.summary.Lost = 0, 0, 0
	for _, load := range s.loads() {
		t := load.tally()
		s.summary.Calls += t.Sent
		s.summary.Refused += t.Limited + t.Refused
		s.summary.Lost += t.Broken
	}
	return s.summary
}

// conclude shows what held.
func (s *stage) conclude() {
	for _, fault := range s.journal.faulty() {
		s.found(false, "internal fault: %s: %v", fault.Where, fault.Err)
	}
	sum := s.sum()
	p := s.screen
	p.Printf("\n%s", p.Paint(screen.Bold, "What held"))
	for i, outcome := range sum.Outcomes {
		if sum.held(i + 1) {
			p.Printf("   %s %d  %s", mark(p, true), i+1, outcome)
		}
		for _, f := range sum.Broken() {
			if f.Chapter == i+1 {
				p.Printf("   %s %d  %s", mark(p, false), i+1, f.Text)
			}
		}
	}
	if sum.Unplayed > 0 {
		p.Printf("   chapters that could not be played after this: %d", sum.Unplayed)
	}
	p.Printf("   %d calls in %.1f s: %d refused by rules, %d without a proper answer\n\n", sum.Calls, sum.Took.Seconds(), sum.Refused, sum.Lost)
	if broken := sum.Broken(); len(broken) > 0 {
		p.Printf("%s", p.Paint(screen.Red, fmt.Sprintf("%d of %d promises did not hold.", len(broken), len(sum.Findings))))
		return
	}
	p.Printf("%s", p.Paint(screen.Green, fmt.Sprintf("All %d promises held.", len(sum.Findings))))
}

// keep leaves everything running until ctx is done.
func (s *stage) keep(ctx context.Context) {
	p := s.screen
	p.Printf("\nIt all keeps running, with callers, until you press Ctrl-C. Try:")
	for _, line := range s.store.toEdit() {
		p.Printf("   edit   %s", line)
	}
	p.Printf("   call   curl -i %s/search", s.front.url)
	p.Printf("   watch  cordon top --admin %s", s.front.admin)
	p.Printf("   break  curl -X POST %s/ill", s.stock.instances[2].url())
	p.Printf("   mend   curl -X POST %s/well", s.stock.instances[2].url())
	s.stock.send(stockRate)
	s.search.load.perSecond.Store(searchRate)
	s.pay.load.perSecond.Store(payRate)
	s.report.load.perSecond.Store(reportRate)
	s.cart.load.perSecond.Store(cartRate)
	told := s.journal.reportCount()
	w := s.watch()
	for s.let(ctx, 100*time.Millisecond) == nil {
		for _, report := range s.journal.reportsSince(told) {
			told++
			s.say("%s", report.String())
		}
		for more := true; more; {
			_, more = w.next()
		}
	}
}
