package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
)

const (
	payRate = 100
	// awaitBreaker is how long the demo waits for a change of the breaker that is due within two seconds or so.
	awaitBreaker = 8 * time.Second
	// straggle is what a call that was already past the breaker may need to be on its way.
	straggle = 100 * time.Millisecond
)

// breakerOpens: a service falls ill; its breaker opens, probes, opens for longer, and closes when the service is well.
func (s *stage) breakerOpens(ctx context.Context) error {
	s.title("A service falls ill and gets well", "pay starts to answer 500; its breaker opens for 1 s when half of the calls within 2 s failed, then probes")
	s.shows("breaker: [{id: pay, resource: pay, threshold: %g, window: 2s, minCalls: 20, open: 1s, maxOpen: 8s}]", s.rules.payThreshold)
	s.pay.load.perSecond.Store(payRate)
	if err := s.let(ctx, time.Second); err != nil {
		return err
	}
	s.pay.failing.Store(true)
	ill := s.clock.Now()
	s.say("pay falls ill")

	opened, err := s.turn(ctx, 0, breaker.Open)
	if err != nil {
		return err
	}
	s.found(opened.Failures*2 >= opened.Calls, "opened %s after pay fell ill: %s", seconds(opened.At-ill), opened.Reason)
	if err := s.showRefusal(ctx); err != nil {
		return err
	}
	probing, err := s.turn(ctx, 1, breaker.HalfOpen)
	if err != nil {
		return err
	}
	s.judgeOpen(opened, probing)
	again, err := s.turn(ctx, 2, breaker.Open)
	if err != nil {
		return err
	}
	s.found(again.OpenFor == 2*opened.OpenFor, "the probe failed: open again, for %s instead of %s", seconds(again.OpenFor), seconds(opened.OpenFor))
	closed, well, err := s.healed(ctx, again)
	if err != nil {
		return err
	}
	if err := s.afterwards(ctx); err != nil {
		return err
	}
	s.outcome("breaker: opened after %s, probed after %s, open for %s more, closed %s after recovery; an edit kept it open",
		seconds(opened.At-ill), seconds(probing.At-opened.At), seconds(again.OpenFor), seconds(closed.At-well))
	return nil
}

// healed plays the second half: the rule is edited while the breaker is open, the service gets well, the breaker closes. well is when the
// service was well.
func (s *stage) healed(ctx context.Context, again breaker.Transition) (closed breaker.Transition, well time.Duration, err error) {
	to := s.rules
	to.payThreshold = 0.4
	e, _, err := s.edit(ctx, to)
	if err != nil {
		return closed, 0, err
	}
	s.say("the open breaker's rule is edited, threshold 0.5 → 0.4: in force after %v", e.took)
	s.pay.failing.Store(false)
	well = s.clock.Now()
	s.say("pay is well again")
	probing, err := s.turn(ctx, 3, breaker.HalfOpen)
	if err != nil {
		return closed, well, err
	}
	s.judgeOpen(again, probing)
	s.found(e.inForce < probing.At && probing.At-again.At >= again.OpenFor, "the edit kept the breaker open and its timer running")
	closed, err = s.turn(ctx, 4, breaker.Closed)
	if err != nil {
		return closed, well, err
	}
	s.found(true, "closed %s after pay was well: %s", seconds(closed.At-well), closed.Reason)
	return closed, well, nil
}

// afterwards finds whether all is as before once the breaker has closed. Calls that it refused just before are waited for, so that they are not
// taken for calls refused after.
func (s *stage) afterwards(ctx context.Context) error {
	if err := s.settle(ctx, s.pay); err != nil {
		return err
	}
	before := s.pay.load.tally()
	s.pay.load.perSecond.Store(payRate)
	if err := s.let(ctx, time.Second); err != nil {
		return err
	}
	if err := s.settle(ctx, s.pay); err != nil {
		return err
	}
	after := s.pay.load.tally().minus(before)
	s.found(after.OK > 0 && after.Failed+after.Refused+after.Broken == 0 && len(s.journal.history(s.pay.name)) == 5,
		"then every call gets through: %d of %d", after.OK, after.answered())
	total := s.pay.load.tally()
	s.found(total.Broken == 0, "every call got an answer: %d good, %d failed, %d refused with 503, %d broken%s",
		total.OK, total.Failed, total.Refused, total.Broken, s.pay.load.why())
	return nil
}

// turn waits for the breaker's n-th change, which must be to the given state.
func (s *stage) turn(ctx context.Context, n int, to breaker.State) (breaker.Transition, error) {
	came, err := s.await(ctx, awaitBreaker, func() bool { return len(s.journal.history(s.pay.name)) > n })
	if err != nil {
		return breaker.Transition{}, err
	}
	if !came {
		return breaker.Transition{}, fmt.Errorf("the breaker did not turn to %v within %v", to, awaitBreaker)
	}
	t := s.journal.history(s.pay.name)[n]
	if t.To != to {
		return t, fmt.Errorf("the breaker turned to %v instead of %v: %s", t.To, to, t.Reason)
	}
	s.say("breaker %v → %s", t.From, s.paintState(t.To.String()))
	return t, nil
}

// judgeOpen finds whether an open breaker let nothing through until its time was over.
func (s *stage) judgeOpen(opened, probing breaker.Transition) {
	through := len(between(s.journal.admitted(s.pay.name), opened.At+straggle, probing.At))
	s.found(through == 0 && probing.At-opened.At >= opened.OpenFor,
		"open for %s, %s promised: %d calls let through", seconds(probing.At-opened.At), seconds(opened.OpenFor), through)
}

// showRefusal makes one call while the breaker is open, to show what callers get.
func (s *stage) showRefusal(ctx context.Context) error {
	response, err := s.get(ctx, s.pay)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return err
	}
	var problem nethttp.Problem
	text := response.Status
	if json.Unmarshal(body, &problem) == nil {
		text = fmt.Sprintf("%s, Retry-After: %s, %q", text, response.Header.Get("Retry-After"), problem.Title)
	}
	s.screen.Printf("       a caller gets: %s", s.screen.Paint(screen.Yellow, text))
	return nil
}

// seconds is a duration for people, where tenths matter.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
