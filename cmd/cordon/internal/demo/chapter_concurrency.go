package demo

import (
	"context"
	"time"
)

const (
	reportRate    = 300
	reportLatency = 150 * time.Millisecond
	reportLength  = 2500 * time.Millisecond
)

// concurrencyHolds: a service becomes slow, and no more of its calls run at once than allowed.
func (s *stage) concurrencyHolds(ctx context.Context) error {
	s.title("A slow service is not flooded", "report takes 150 ms a call: 300 calls a second would be 45 at once, 20 are allowed")
	s.shows("concurrency: [{id: report, resource: report, limit: %d}]", s.rules.reportLimit)
	s.report.latency.Store(int64(reportLatency))
	s.report.load.perSecond.Store(reportRate)
	if err := s.let(ctx, reportLength); err != nil {
		return err
	}
	if err := s.settle(ctx, s.report); err != nil {
		return err
	}
	limit := s.rules.reportLimit
	left, peak := s.report.busy()
	total := s.report.load.tally()
	s.found(peak <= limit && peak >= limit*9/10, "most at once by the service's own count: %d, limit %d", peak, limit)
	s.found(left == 0 && total.Broken == 0, "every call got an answer: %d good, %d refused, %d broken%s",
		total.OK, total.Limited+total.Refused, total.Broken, s.report.load.why())
	s.outcome("concurrency: %d calls at most at once at the service; limit %d", peak, limit)
	return nil
}
