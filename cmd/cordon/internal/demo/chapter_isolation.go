package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/isolation"
)

const (
	// The numbers of the rule that the chapters judge by.
	stockBase   = time.Second
	stockJitter = 0.05
	// quicker is what the rule's slow start is changed to.
	quicker = 2 * time.Second

	// outWithin and outAfter are what is promised of an instance that fails every call: the time, and the calls to it.
	outWithin = 2 * time.Second
	outAfter  = 30
	// awaitDecision is how long the demo waits for a decision that is due within four seconds or so.
	awaitDecision = 12 * time.Second
	// comebacks is how often the instance comes back sick.
	comebacks = 2
)

// sickInstanceIsolated: one of five instances falls ill, is put out of service, comes back sick twice, gets well, and gets its share back.
func (s *stage) sickInstanceIsolated(ctx context.Context) error {
	s.title("One of five instances falls ill", fmt.Sprintf(
		"two callers send %d calls a second each to the same five instances of stock: one follows the rule, the other has none", stockRate))
	s.shows("isolation: [{id: stock, service: stock, base: 1s, max: 8s, probeEvery: 100ms, slowStart: %v, fallbackHold: 1s}]", s.rules.slowStart)
	w := s.watch()
	sick := s.stock.instances[2]
	s.stock.send(stockRate)
	if err := s.let(ctx, 900*time.Millisecond); err != nil {
		return err
	}
	before := s.stock.tallies()
	ill := s.fail(sick)
	spells, err := s.comeBackSick(ctx, w, sick, ill)
	if err != nil {
		return err
	}
	if err := s.editQuarantined(ctx, sick); err != nil {
		return err
	}
	s.heal(sick)
	during := s.stock.tallies().minus(before)
	if err := s.quarantineEnds(ctx, w, sick, spells[comebacks]); err != nil {
		return err
	}
	s.judgeDoubling(spells)

	readmitted, err := w.until(ctx, isolation.EventReadmitted, sick.name)
	if err != nil {
		return err
	}
	whole, err := w.until(ctx, isolation.EventInService, sick.name)
	if err != nil {
		return err
	}
	if err := s.let(ctx, 400*time.Millisecond); err != nil {
		return err
	}
	if err := s.settlePool(ctx); err != nil {
		return err
	}
	s.judgeGrowth(sick, readmitted.At, whole.At)
	s.judgeOthers(sick.name)
	// Half is far from what is to be expected, a twentieth or so.
	s.found(during.guarded.share() <= during.plain.share()/2, "failed calls while it was ill: %s with the rule, %s without", during.guarded, during.plain)
	total := s.stock.tallies()
	s.judgeAnswered(total)
	s.outcome("isolation: out %s after it fell ill, twice back sick, out for %s; failed calls meanwhile: %s with the rule, %s without",
		seconds(spells[0].At-ill.at), lengths(spells), during.guarded, during.plain)
	return nil
}

// comeBackSick plays the instance's illness until its last quarantine has begun. It returns the quarantines.
func (s *stage) comeBackSick(ctx context.Context, w *watch, sick *upstream, ill onset) ([]isolation.Event, error) {
	var spells []isolation.Event
	for len(spells) <= comebacks {
		out, err := w.until(ctx, isolation.EventQuarantined, sick.name)
		if err != nil {
			return nil, err
		}
		if len(spells) == 0 {
			held, took := s.outInTime(ill, out)
			s.found(held, "out of service %s after it fell ill, by %d calls; its share goes to the others", took, out.Evidence.Calls)
		}
		if len(spells) < comebacks {
			if err := s.quarantineEnds(ctx, w, sick, out); err != nil {
				return nil, err
			}
		}
		spells = append(spells, out)
	}
	return spells, nil
}

// quarantineEnds waits for the quarantine's end, and judges it.
func (s *stage) quarantineEnds(ctx context.Context, w *watch, sick *upstream, out isolation.Event) error {
	probing, err := w.until(ctx, isolation.EventProbing, sick.name)
	if err != nil {
		return err
	}
	s.judgeQuarantine(sick, out, probing)
	return nil
}

// editQuarantined edits the rule while the instance is quarantined, which must not end that.
func (s *stage) editQuarantined(ctx context.Context, sick *upstream) error {
	if err := s.let(ctx, 500*time.Millisecond); err != nil {
		return err
	}
	before, _ := s.stock.guarded.group.Why(s.clock.Now(), sick.name)
	from, to := s.rules.slowStart, s.rules
	to.slowStart = quicker
	e, _, err := s.edit(ctx, to)
	if err != nil {
		return err
	}
	s.say("the rule is edited, slowStart %v → %v: in force after %v", from, quicker, e.took)
	if e.inForce >= before.Until {
		s.say("that was after the end of the quarantine: this machine is too busy to tell whether edits keep it")
		return nil
	}
	after, _ := s.stock.guarded.group.Why(s.clock.Now(), sick.name)
	s.found(after.Until == before.Until && after.Strikes == before.Strikes,
		"the edit kept the quarantine, and the instance's strikes: %s left", seconds(after.Left))
	return s.let(ctx, time.Second)
}

// judgeAnswered finds whether every call reached the instance that it was sent to, and was answered.
func (s *stage) judgeAnswered(c comparison) {
	s.found(c.lost == 0 && s.stock.arrived(), "every call got to its instance, and an answer: %s failed with the rule, %s without, %d broken%s",
		c.guarded, c.plain, c.lost, s.stock.why())
}

// An onset is when an instance fell ill, and how long the machine had been held up until then.
type onset struct{ at, heldUp time.Duration }

// outInTime reports whether an instance was out as soon as promised, and says how soon. The time for which the machine was held up meanwhile does
// not count, and the calls that were under way then, of either caller's, may have come on top.
func (s *stage) outInTime(ill onset, out isolation.Event) (held bool, took string) {
	heldUp := min(time.Duration(s.stock.guarded.load.heldUp.Load())-ill.heldUp, out.At-ill.at)
	after := outAfter + int64(2*fairShare*stockRate*heldUp.Seconds())
	took = seconds(out.At - ill.at)
	if heldUp >= 100*time.Millisecond {
		took += fmt.Sprintf(" (this machine was held up by %s)", seconds(heldUp))
	}
	return out.At-ill.at-heldUp <= outWithin && out.Evidence.Calls <= after, took
}

// judgeQuarantine finds whether an instance got no call from its quarantine's beginning to its end.
func (s *stage) judgeQuarantine(u *upstream, out, probing isolation.Event) {
	sent := len(between(s.stock.guarded.picked(u.name), out.At+straggle, probing.At))
	s.found(sent == 0 && probing.At >= out.Until, "out for %s, %s promised: %d calls sent to it", seconds(probing.At-out.At), seconds(out.Until-out.At), sent)
}

// judgeDoubling finds whether every quarantine was twice as long as the one before, but for the jitter.
func (s *stage) judgeDoubling(spells []isolation.Event) {
	held, want := true, stockBase
	for _, e := range spells {
		length := (e.Until - e.At).Seconds() / want.Seconds()
		held = held && length >= 1-stockJitter && length <= 1+stockJitter
		want *= 2
	}
	s.found(held, "each time it came back sick its quarantine was doubled: %s", lengths(spells))
}

// judgeGrowth finds whether an instance's share of the traffic grew from readmission until it had its whole share.
func (s *stage) judgeGrowth(u *upstream, readmitted, whole time.Duration) {
	const steps = 4
	share := func(from, to time.Duration) float64 {
		shares, _ := s.stock.shares(from, to)
		return shares[slices.Index(s.stock.instances, u)]
	}
	var texts []string
	length := whole - readmitted
	for i := range time.Duration(steps) {
		texts = append(texts, percent(share(readmitted+i*length/steps, readmitted+(i+1)*length/steps)))
	}
	first, second, after := share(readmitted, readmitted+length/2), share(readmitted+length/2, whole), share(whole, s.clock.Now())
	// In a slow start from a tenth on, the halves' shares are 8 and 16 in a hundred.
	s.found(first < second && first < fairShare*3/4 && after > fairShare*3/4 && length >= quicker,
		"let in again, its share grew over %s: %s, then %s", seconds(length), strings.Join(texts, ", "), percent(after))
}

// judgeOthers finds whether only the sick instance was ever put out.
func (s *stage) judgeOthers(sick string) {
	others := 0
	for _, e := range s.journal.decided(poolName, 0) {
		if e.Address != sick {
			others++
		}
	}
	s.found(others == 0, "nothing was decided against the %d well ones: %d decisions", poolSize-1, others)
}

// fail makes an instance answer 500 to every call.
func (s *stage) fail(u *upstream) onset {
	ill := onset{s.clock.Now(), time.Duration(s.stock.guarded.load.heldUp.Load())}
	u.failing.Store(true)
	s.say("%s falls ill: it answers 500", u.name)
	return ill
}

func (s *stage) heal(list ...*upstream) time.Duration {
	var names []string
	for _, u := range list {
		u.failing.Store(false)
		names = append(names, u.name)
	}
	s.say("well again: %s", strings.Join(names, ", "))
	return s.clock.Now()
}

func (s *stage) settlePool(ctx context.Context) error {
	return s.settleLoads(ctx, poolName, s.stock.guarded.load, s.stock.plain.load)
}

// A watch shows the decisions on the pool's instances in the order in which they were made.
type watch struct {
	*stage
	seen int
}

// watch returns a watch that begins with the next decision.
func (s *stage) watch() *watch {
	return &watch{stage: s, seen: len(s.journal.decided(poolName, 0))}
}

// next returns the next decision, and shows it; false if there is none yet.
func (w *watch) next() (isolation.Event, bool) {
	list := w.journal.decided(poolName, w.seen)
	if len(list) == 0 {
		return isolation.Event{}, false
	}
	w.seen++
	w.say("%s", w.decision(list[0]))
	return list[0], true
}

// until waits for a decision of that kind about that instance ("" for the service), and shows all up to it.
func (w *watch) until(ctx context.Context, kind isolation.EventKind, address string) (isolation.Event, error) {
	var found isolation.Event
	came, err := w.await(ctx, awaitDecision, func() bool {
		for e, ok := w.next(); ok; e, ok = w.next() {
			if e.Kind == kind && e.Address == address {
				found = e
				return true
			}
		}
		return false
	})
	if err == nil && !came {
		err = fmt.Errorf("no decision %q about %q within %v", kind, address, awaitDecision)
	}
	return found, err
}

// decision puts an event in a line, with its own reason.
func (s *stage) decision(e isolation.Event) string {
	style, what := screen.Yellow, e.Kind.String()
	switch e.Kind {
	case isolation.EventQuarantined:
		style, what = screen.Red, fmt.Sprintf("%v for %s", e.Kind, seconds(e.Until-e.At))
	case isolation.EventFallbackOn:
		style = screen.Red
	case isolation.EventInService, isolation.EventFallbackOff:
		style = screen.Green
	}
	if e.Address != "" {
		what = e.Address + " " + s.screen.Paint(style, what)
	} else {
		what = s.screen.Paint(style, what)
	}
	return what + ": " + e.Reason
}

// lengths lists how long quarantines were to last.
func lengths(spells []isolation.Event) string {
	var texts []string
	for _, e := range spells {
		texts = append(texts, seconds(e.Until-e.At))
	}
	return strings.Join(texts, ", ")
}
