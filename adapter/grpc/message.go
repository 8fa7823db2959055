package cordongrpc

import "github.com/cordon-go/cordon"

// messages asks about the messages of a stream, one at a time.
type messages struct {
	begun bool
}

// first asks the rules that look into the message when it is the stream's first one. What they hold is the stream's.
func (s *messages) first(k *call, h *holds, m any) error {
	if s.begun {
		return nil
	}
	s.begun = true
	k.args[0] = m
	defer func() { k.args[0] = nil }()
	ent, err := k.enter(cordon.PartMessage)
	if err != nil {
		return err
	}
	h.begun(ent)
	return nil
}

// each asks about any message, as a call of its own. It is over at once, so it is no inbound one: response times that are none would mislead the process's system rules, which the stream has been held to.
func (s *messages) each(k *call, m any) error {
	if k.cfg.messages == nil {
		return nil
	}
	name := k.cfg.messages(k.ctx, k.resource, m)
	if name == "" {
		return nil
	}
	ent, err := k.guard.eng.Enter(k.ctx, cordon.Request{
		Resource: name, Method: k.method, Origin: k.origin, Carrier: &k.carrier, Args: []any{m},
	})
	if err != nil {
		return k.cfg.refuse(err)
	}
	ent.End(cordon.Success)
	return nil
}
