package cordon

import (
	"context"

	"github.com/cordon-go/cordon/paramflow"
)

// Part names parts of the checks of a call, for adapters that learn of a call bit by bit: a stream begins before its first message has come, and a server may want to
// refuse a call before it has read what was sent. Parts can be combined by |. See Request.Part.
type Part uint8

const (
	// PartAtOnce are the checks that neither wait nor look into the message. The call is counted with this part.
	PartAtOnce Part = 1 << iota
	// PartWaiting are the rules that may make the call wait, and do not look into the message.
	PartWaiting
	// PartMessage are the rules on hot parameters that look into the message: the arguments or the body. Those with an extractor of one's own count among them, for nobody
	// knows what that looks at.
	PartMessage

	allParts = PartAtOnce | PartWaiting | PartMessage
)

// partOf returns the parts that a request asks.
func partOf(req *Request) Part {
	if req == nil || req.Part&allParts == 0 {
		return allParts
	}
	return req.Part & allParts
}

// has reports whether a rule on hot parameters is in the parts.
func (p Part) has(s *paramState) bool {
	switch {
	case s.path.message:
		return p&PartMessage != 0
	case s.rule.Mode == paramflow.Pace:
		return p&PartWaiting != 0
	}
	return p&PartAtOnce != 0
}

// enterRest is Enter for parts of a call that was counted already.
func (e *Engine) enterRest(ctx context.Context, cost int, req *Request) (Entry, error) {
	var t *table
	for t == nil { // a resource that was dropped meanwhile is looked up again
		t = e.resources.get(req.Resource).current()
	}
	if t.plain || t.closed || !t.lists.asks(req.Part) {
		return Entry{}, nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return Entry{}, err // the call's own entry tells how it ended
	}
	return t.enterAny(ctx, cost, req)
}

// asks reports whether there is any check in parts that a call of which the rest is known has still to pass.
func (c *checks) asks(p Part) bool {
	if p&PartWaiting != 0 && len(c.queues)+len(c.paces) > 0 {
		return true
	}
	for _, s := range c.params {
		if p.has(s) {
			return true
		}
	}
	return false
}
