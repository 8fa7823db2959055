package demo

import (
	"context"
	"fmt"
	"time"
)

const (
	// inForceWithin is what is promised: a changed document is in force within a second. awaitReport is how long the demo waits to tell.
	inForceWithin = time.Second
	awaitReport   = 5 * time.Second

	// The limit is lowered to lowLimit, and then swings between it and lowestLimit.
	lowLimit      = 80
	lowestLimit   = 20
	touches       = 6
	touchInterval = 250 * time.Millisecond
)

// editedLive: the rule document is edited while calls pass.
func (s *stage) editedLive(ctx context.Context) error {
	s.title("The rules are edited while calls pass", "the gateway watches "+s.store.place())
	high := s.rules.searchLimit
	from := s.clock.Now()
	before := s.search.load.tally()
	s.search.load.perSecond.Store(searchRate)
	if err := s.let(ctx, 700*time.Millisecond); err != nil {
		return err
	}

	lowered, _, err := s.editLimit(ctx, lowLimit)
	if err != nil {
		return err
	}
	s.say("limit %d → %d, %s: in force after %v", high, lowLimit, s.store.words().replaced, lowered.took)
	if err := s.let(ctx, 1500*time.Millisecond); err != nil {
		return err
	}
	slowest, err := s.touch(ctx)
	if err != nil {
		return err
	}
	if err := s.let(ctx, 500*time.Millisecond); err != nil {
		return err
	}
	raised, raisedBy, err := s.editLimit(ctx, high)
	if err != nil {
		return err
	}
	s.say("limit %d → %d: in force after %v", lowLimit, high, raised.took)
	if err := s.let(ctx, 1500*time.Millisecond); err != nil {
		return err
	}
	if err := s.settle(ctx, s.search); err != nil {
		return err
	}

	slowest = max(slowest, lowered.took, raised.took)
	s.found(slowest <= inForceWithin, "%d edits, each in force within a second: the slowest after %v", touches+2, slowest)
	s.judgeEdits(from, lowered.inForce, raisedBy, high)
	lost := s.search.load.tally().minus(before)
	s.found(lost.Broken == 0, "no call was dropped: %d sent, %d through, %d refused, %d broken%s",
		lost.Sent, lost.OK, lost.Limited, lost.Broken, s.search.load.why())
	s.outcome("edits: %d while calls passed, in force within %v, counts kept, no call dropped", touches+2, slowest)
	return nil
}

// judgeEdits finds whether edits of the limit forgot what had been counted: then a second would hold more than the limit.
func (s *stage) judgeEdits(from, lowered, raised time.Duration, high int) {
	admitted := s.journal.admitted(s.search.name)
	low, _ := worst(between(admitted, lowered, raised), time.Second)
	s.found(low <= lowLimit && low >= lowLimit*9/10,
		"no edit starts the count afresh: fullest second across %d edits %d calls, limit %d or %d", touches, low, lowLimit, lowestLimit)
	all, _ := worst(between(admitted, from, s.clock.Now()), time.Second)
	s.found(all <= high && all >= high*9/10, "fullest second across all edits: %d calls, highest limit %d", all, high)
}

// touch edits the limit down and up, many times in quick succession, and returns how long the slowest edit took to be in force. Whoever forgets calls
// when a limit is lowered lets too many through when it is raised again.
func (s *stage) touch(ctx context.Context) (slowest time.Duration, err error) {
	s.say("limit %d → %d → %d … %d times in a row", lowLimit, lowestLimit, lowLimit, touches)
	for i := range touches {
		limit := lowestLimit
		if i%2 == 1 {
			limit = lowLimit
		}
		e, _, err := s.editLimit(ctx, limit)
		if err != nil {
			return 0, err
		}
		slowest = max(slowest, e.took)
		if err := s.let(ctx, touchInterval); err != nil {
			return 0, err
		}
	}
	return slowest, nil
}

// editLimit changes search's limit.
func (s *stage) editLimit(ctx context.Context, limit int) (e edit, by time.Duration, err error) {
	to := s.rules
	to.searchLimit = limit
	return s.edit(ctx, to)
}

// An edit is a change of the rule document that is in force.
type edit struct {
	// inForce is when it was, took how long after the document was there.
	inForce, took time.Duration
	// report is what the engine said.
	report reported
}

// edit puts a document with other numbers in the place of the rule document and waits until it is in force. by is when it was not there yet.
func (s *stage) edit(ctx context.Context, to rules) (e edit, by time.Duration, err error) {
	before := s.journal.reportCount()
	by = s.clock.Now()
	if err := s.store.replace(ctx, to.document()); err != nil {
		return edit{}, by, err
	}
	written := s.clock.Now()
	told, err := s.await(ctx, awaitReport, func() bool { return s.journal.reportCount() > before })
	if err != nil {
		return edit{}, by, err
	}
	if !told {
		return edit{}, by, fmt.Errorf("the changed rules were not noticed within %v", awaitReport)
	}
	report := s.journal.reportsSince(before)[0]
	if !report.Applied || !report.OK() {
		return edit{}, by, fmt.Errorf("the changed rules were refused: %w", report.Problems)
	}
	s.rules = to
	// The notice may come before replace has returned.
	return edit{inForce: report.at, took: max(0, report.at-written).Round(time.Millisecond), report: report}, by, nil
}
