package demo

import (
	"context"
	"fmt"
	"time"
)

const (
	searchRate  = 600
	limitLength = 3 * time.Second
)

// limitHolds: three times the limit is sent, and no second sees more than the limit, wherever one lets it start.
func (s *stage) limitHolds(ctx context.Context) error {
	s.title("A limit holds", "search may be called 200 times in any second; three times that is sent")
	s.shows("flow: [{id: search, resource: search, limit: %d, per: 1s}]", s.rules.searchLimit)
	from := s.clock.Now()
	s.search.load.perSecond.Store(searchRate)
	if err := s.let(ctx, limitLength); err != nil {
		return err
	}
	if err := s.settle(ctx, s.search); err != nil {
		return err
	}
	fullest := s.judgeLimit(s.rules.searchLimit, from, s.clock.Now())
	total := s.search.load.tally()
	s.found(total.Limited > 0 && total.Broken == 0, "%d calls sent, %d through, %d refused with 429, %d broken%s",
		total.Sent, total.OK, total.Limited, total.Broken, s.search.load.why())
	s.outcome("limit: fullest second %s; limit %d", fullest, s.rules.searchLimit)
	return nil
}

// judgeLimit finds whether search was held to limit between from and to, when everything has settled: by the times at which calls
// were admitted exactly, by the times at which they arrived with what the way may add, and whether the limit was used at all. It returns
// the fullest seconds in words.
func (s *stage) judgeLimit(limit int, from, to time.Duration) string {
	admitted := between(s.journal.admitted(s.search.name), from, to)
	arrived := between(s.search.arrived(""), from, to)
	most, _ := worst(admitted, time.Second)
	s.found(most <= limit && most >= limit*9/10, "fullest second by admission: %d calls, limit %d", most, limit)
	if len(admitted) != len(arrived) {
		s.found(false, "%d calls were admitted, but %d arrived at the service", len(admitted), len(arrived))
		return "not known"
	}
	return fmt.Sprintf("%d calls by admission, %s", most, s.judgeArrivals(limit, admitted, arrived))
}

// judgeArrivals judges by the service's own clock. Calls admitted apart may have been held up on their way and arrive together: where a busy
// machine held them up for long, the interval judged is shorter than a second by as much.
func (s *stage) judgeArrivals(limit int, admitted, arrived []time.Duration) string {
	most, _ := worst(arrived, time.Second)
	if most <= allowedArrivals(limit) {
		s.found(true, "fullest second by arrival at the service: %d calls, limit %d", most, limit)
		return fmt.Sprintf("%d by arrival at the service", most)
	}
	least, longest := transit(admitted, arrived)
	heldUp := longest - least
	if heldUp >= time.Second {
		s.found(false, "this machine held calls up on their way by up to %v: it is too busy to tell whether a limit per second held", rounded(heldUp))
		return "not known by arrival at the service"
	}
	within, _ := worst(arrived, time.Second-heldUp)
	s.found(within <= allowedArrivals(limit),
		"fullest second by arrival at the service: %d calls, some held up on the way by %v; fullest %v: %d, limit %d",
		most, rounded(heldUp), rounded(time.Second-heldUp), within, limit)
	return fmt.Sprintf("%d by arrival at the service, some held up by %v", most, rounded(heldUp))
}

// rounded is a duration for people.
func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
