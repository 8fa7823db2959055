package cordongrpc

import (
	"context"
	"slices"
	"sync"

	"github.com/cordon-go/cordon/isolation"
)

// Picked is which instances the attempts of one call went to, as far as Register's policy chose them. It is safe for concurrent use.
type Picked struct {
	mu  sync.Mutex
	all []*isolation.Member
}

type pickedKey struct{}

// WithPicked returns a context for one call, in which the policy notes the instances that it chooses. An attempt of a call with it goes to an instance that none before went to, if there is one.
func WithPicked(ctx context.Context) (context.Context, *Picked) {
	p := &Picked{}
	return context.WithValue(ctx, pickedKey{}, p), p
}

// Addresses returns the first addresses of the instances, in the order of the attempts; none for a call that was never sent.
func (p *Picked) Addresses() []string {
	all := p.members()
	addresses := make([]string, len(all))
	for i, m := range all {
		addresses[i] = m.Address()
	}
	return addresses
}

// noting returns the context of a client's call whose ending somebody wants to know all about.
func (c *config) noting(ctx context.Context) context.Context {
	if c.outcome == nil || pickedOf(ctx) != nil {
		return ctx
	}
	ctx, _ = WithPicked(ctx)
	return ctx
}

// pickedOf returns where a call's instances are noted, nil if they are not.
func pickedOf(ctx context.Context) *Picked {
	p, _ := ctx.Value(pickedKey{}).(*Picked)
	return p
}

func (p *Picked) members() []*isolation.Member {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

func (p *Picked) add(m *isolation.Member) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, m)
}
