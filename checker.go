package cordon

import (
	"errors"
	"time"
)

// reserveCheckers asks the engine's checkers.
func (t *table) reserveCheckers(c *caller, h *hold, req *Request) error {
	e := t.res.eng
	if len(e.cfg.checkers) == 0 {
		return nil
	}
	h.checked = &CheckedCall{Context: c.ctx, Now: c.now}
	if req != nil {
		h.checked.Request = *req // its resource is not always t's: that may be one for many names
	} else {
		h.checked.Request.Resource = t.res.name
	}
	h.checked.Request.Cost = normalCost(h.checked.Request.Cost)
	for _, k := range e.cfg.checkers {
		err, faulty := e.ask(k, h.checked)
		switch {
		case faulty && e.cfg.faults == PassOnFault:
			continue // it holds nothing and is told nothing
		case err != nil:
			return t.refusedBy(k, err)
		}
		h.admittedBy = append(h.admittedBy, k)
	}
	return nil
}

// ask calls a checker. A panic of it is a fault, and ErrFault.
func (e *Engine) ask(k Checker, call *CheckedCall) (err error, faulty bool) {
	defer func() {
		if p := recover(); p != nil {
			e.fault("checker "+checkerName(k), call.Request.Resource, p)
			err, faulty = ErrFault, true
		}
	}()
	return k.Check(call), false
}

// refusedBy makes a checker's error a refusal, and counts it.
func (t *table) refusedBy(k Checker, err error) error {
	var b *BlockedError
	if !errors.As(err, &b) {
		b = &BlockedError{Kind: KindCustom, RuleID: checkerName(k), Resource: t.res.name, cause: err}
	}
	t.res.blockedByChecker.Add(1)
	return b
}

// checkerName is the checker's name, even if Name panics.
func checkerName(k Checker) (name string) {
	defer func() {
		if recover() != nil {
			name = "(nameless)"
		}
	}()
	return k.Name()
}

// checkersDone tells the checkers that admitted a call how it ended.
func (e *Engine) checkersDone(by []Checker, call *CheckedCall, outcome Outcome, latency time.Duration, ran bool) {
	for _, k := range by {
		e.Guard("checker "+checkerName(k), call.Request.Resource, func() { k.Done(call, outcome, latency, ran) })
	}
}
