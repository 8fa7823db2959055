package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

const (
	// mostOut is how many of the five the rule may put out, half of them by ceiling; when one more is sick, isolation switches itself off.
	mostOut = 3
	// withoutIsolation is how long the instances go on failing after that.
	withoutIsolation = 1300 * time.Millisecond
	// onWithin is what is promised of isolation's return once the instances are well: that two looks, a second apart, are enough, with reserve.
	onWithin = 5 * time.Second
	// afterHealing is how long the return of the traffic is looked at.
	afterHealing = time.Second
	// A slot is a part of that time, which is judged if it holds as many calls as make a share.
	slot      = 300 * time.Millisecond
	slotCalls = 25
)

// nearlyAllFail: the instances fail one after the other, until isolation switches itself off; when they are well it is on again.
func (s *stage) nearlyAllFail(ctx context.Context) error {
	s.title("The instances fail one after the other", fmt.Sprintf(
		"the rule puts out half of them at most (%d of %d); when more than 70%% are sick the fault lies elsewhere, and isolation switches itself off", mostOut, poolSize))
	w := s.watch()
	before := s.stock.tallies()
	s.stock.send(stockRate)
	if err := s.let(ctx, 400*time.Millisecond); err != nil {
		return err
	}
	on, after, err := s.failOneByOne(ctx, w)
	if err != nil {
		return err
	}
	if err := s.let(ctx, withoutIsolation); err != nil {
		return err
	}
	s.judgeReached(on.At+straggle, s.clock.Now())

	well := s.heal(s.stock.instances[:mostOut+1]...)
	off, err := w.until(ctx, isolation.EventFallbackOff, "")
	if err != nil {
		return err
	}
	s.found(off.At-well <= onWithin, "isolation is on again %s after they were well", seconds(off.At-well))
	if err := s.let(ctx, afterHealing); err != nil {
		return err
	}
	s.judgeReturn(well, s.clock.Now())
	if err := s.worksAgain(ctx, w); err != nil {
		return err
	}
	if err := s.settlePool(ctx); err != nil {
		return err
	}
	total := s.stock.tallies()
	s.judgeAnswered(total.minus(before))
	s.outcome("fallback: %s after the %dth of %d fell ill, off again %s after they were well; failed calls in both chapters: %s with the rule, %s without",
		seconds(after), mostOut+1, poolSize, seconds(off.At-well), total.guarded, total.plain)
	return nil
}

// failOneByOne makes instances fail until isolation has switched itself off. after is how long it took from the last one's illness.
func (s *stage) failOneByOne(ctx context.Context, w *watch) (on isolation.Event, after time.Duration, err error) {
	var took []string
	inTime := true
	for _, u := range s.stock.instances[:mostOut] {
		ill := s.fail(u)
		out, err := w.until(ctx, isolation.EventQuarantined, u.name)
		if err != nil {
			return on, 0, err
		}
		held, after := s.outInTime(ill, out)
		inTime = inTime && held
		took = append(took, after)
		if err := s.let(ctx, 200*time.Millisecond); err != nil {
			return on, 0, err
		}
	}
	s.found(inTime, "the first %d were out after %s", mostOut, strings.Join(took, ", "))
	ill := s.fail(s.stock.instances[mostOut])
	if on, err = w.until(ctx, isolation.EventFallbackOn, ""); err != nil {
		return on, 0, err
	}
	after = on.At - ill.at
	s.found(on.Sick == mostOut+1, "with %d of %d sick isolation switched itself off, %s after the last fell ill", on.Sick, on.Instances, seconds(after))
	return on, after, nil
}

// worksAgain shows that isolation is on: an instance that falls ill is put out as before.
func (s *stage) worksAgain(ctx context.Context, w *watch) error {
	sick := s.stock.instances[1]
	ill := s.fail(sick)
	out, err := w.until(ctx, isolation.EventQuarantined, sick.name)
	if err != nil {
		return err
	}
	held, took := s.outInTime(ill, out)
	s.found(held && out.Strikes > 0, "and works: out after %s, for %s, since its earlier strike is remembered", took, seconds(out.Until-out.At))
	s.heal(sick)
	return nil
}

// judgeReached finds whether calls went to every instance.
func (s *stage) judgeReached(from, to time.Duration) {
	shares, calls := s.stock.shares(from, to)
	least, most := slices.Min(shares), slices.Max(shares)
	s.found(least >= fairShare/2, "calls go to all %d while it is off: shares from %s to %s of %d calls", poolSize, percent(least), percent(most), calls)
}

// judgeReturn finds whether any instance was stormed when the instances were well again: whether in any part of the time it got much more than
// its share.
func (s *stage) judgeReturn(from, to time.Duration) {
	worst, slots := 0.0, 0
	for at := from; at+slot <= to; at += slot {
		if shares, calls := s.stock.shares(at, at+slot); calls >= slotCalls {
			worst = max(worst, slices.Max(shares))
			slots++
		}
	}
	s.found(slots > 0 && worst <= fairShare*3/2,
		"no storm on those who are back: none gets more than %s of the calls in any %v", percent(worst), slot)
}
