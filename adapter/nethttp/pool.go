package nethttp

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

// PoolConfig is what a Pool is made with.
type PoolConfig struct {
	// Base sends requests to instances; default http.DefaultTransport, which keeps only two idle connections to each.
	Base http.RoundTripper
	// Name tells the pool's group from others of the same service, in snapshots and events; default: none. NewGroupPool does not need it: its group has its own.
	Name string
	// Clock is the one whose readings the group is used with: two clocks have nothing to do with each other. NewGroupPool requires it; NewPool takes the engine's, whatever is
	// set here.
	Clock clock.Clock
	// Balance says how an instance is chosen, and which region is the own one: Pool.Problems tells of one that no instance is in.
	Balance balance.Options
	// HashBy returns what balance.ConsistentHash goes by, as a user's id: requests with the same go to the same instance, in all processes with the same targets. Those
	// for which it returns "" go anywhere. Required for that strategy; of no use to others. It must be safe for concurrent use.
	HashBy func(*http.Request) string
	// Retry says when a request is sent again, to another instance.
	Retry Retry
	// PreserveHost sends the host that the request is for (http.Request.Host, or its URL's) in the Host header; by default it is the instance's.
	PreserveHost bool
	// Outcome judges how instances do; default: what it finds in Attempt.Default. It must be safe for concurrent use; if it panics, the default stands.
	Outcome func(Attempt) isolation.Outcome
	// Fault is told when Outcome panics; default: nobody. It must be safe for concurrent use. NewPool of an engine tells the engine besides.
	Fault func(error)
}

// Pool is a round tripper that sends every request to one of a service's instances: of those that isolation has in service, the one that the strategy
// chooses. What becomes of it is reported to the group. It is safe for concurrent use.
//
// A request's scheme and host are replaced by the instance's, and its path is put below the instance's: what the URL names is a service
// and not a host, as "http://orders/v1/items". A redirect to an absolute address is followed to the pool again, so services behind one should not send such.
//
// Requests may be sent again, see Retry. To guard the service as a whole besides (its rate, its breaker), put Transport around the pool: that sees a request
// once however often it was sent.
//
// An instance's call lasts until its response's body was read to its end, failed, was closed or abandoned, as with Transport; the latency of a success is the time until the header came. An
// upgraded connection and a stream of events (text/event-stream) have ended well once they have begun: they may last for days, and what is under way
// for so long says nothing about now.
//
// By default 429, and 503 with which a peer's cordon refuses, count as isolation.Throttled, other statuses of 500 and above as Failure, and so do time outs, broken
// connections and bodies that break off; what cannot be connected to is a LocalError, what the caller gave up before
// the header came is Abandoned, what he gave up later or cordon refused on the way is Ignored, and all else is Success. A http.Client's Timeout is a deadline. PoolConfig.Outcome changes that.
type Pool struct {
	cfg      PoolConfig
	group    *isolation.Group
	balancer *balance.Balancer
	budget   *budget // nil: nothing is sent twice
	urls     atomic.Pointer[map[string]*url.URL]
	updating sync.Mutex // serialises updates
	closes   bool       // the group is the pool's own
}

// NewPool returns a pool of the engine: of a group of instances that follows the engine's isolation rules for that service. The
// error is rule.Problems if a target or a setting is wrong. Close it when it is not needed any more.
func NewPool(eng *cordon.Engine, service string, list []Target, cfg PoolConfig) (*Pool, error) {
	if eng == nil {
		return nil, errors.New("nethttp: NewPool needs an engine; for a pool without one there is NewGroupPool")
	}
	cfg.Clock = eng.Clock()
	fault := cfg.Fault
	cfg.Fault = func(err error) {
		eng.ReportFault("PoolConfig.Outcome of adapter/nethttp", service, err)
		if fault != nil {
			fault(err)
		}
	}
	group := eng.NewNamedGroup(service, cfg.Name)
	p, err := NewGroupPool(group, list, cfg)
	if err != nil {
		group.Close()
		return nil, err
	}
	p.closes = true
	return p, nil
}

// NewGroupPool returns a pool over a group, whose list of instances is the pool's to keep from then on. The group stays the caller's to close. The
// error is rule.Problems if a target or a setting is wrong.
func NewGroupPool(group *isolation.Group, list []Target, cfg PoolConfig) (*Pool, error) {
	switch {
	case group == nil:
		return nil, errors.New("nethttp: a pool needs a group; got nil")
	case cfg.Clock == nil:
		return nil, errors.New("nethttp: PoolConfig.Clock is nil; want the clock whose readings the group is used with")
	case cfg.Balance.Strategy == balance.ConsistentHash && cfg.HashBy == nil:
		return nil, errors.New("nethttp: PoolConfig.HashBy is nil; want a function that tells what consistent hashing goes by")
	}
	problems := cfg.Retry.Problems()
	for i := range problems {
		problems[i].Field = "retry." + problems[i].Field
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("nethttp: %w", problems)
	}
	if cfg.Base == nil {
		cfg.Base = http.DefaultTransport
	}
	cfg.Retry = cfg.Retry.WithDefaults()
	balancer, err := balance.New(group, cfg.Balance)
	if err != nil {
		return nil, err
	}
	p := &Pool{cfg: cfg, group: group, balancer: balancer}
	if !cfg.Retry.Off && cfg.Retry.Tries > 1 {
		p.budget = newBudget(cfg.Retry, cfg.Clock.Now())
	}
	if _, err := p.Update(list); err != nil {
		return nil, err
	}
	return p, nil
}

// Group returns the pool's group, for what is known about its instances.
func (p *Pool) Group() *isolation.Group { return p.group }

// Update replaces the list of instances; requests under way go on. A list with a fault (rule.Problems) changes nothing; an empty one means that there are no
// instances, and requests fail with isolation.ErrNoInstance.
func (p *Pool) Update(list []Target) (isolation.Change, error) {
	ready, problems := parseTargets(list)
	if len(problems) > 0 {
		for i := range problems {
			problems[i].Field = "targets" + problems[i].Field
		}
		return isolation.Change{}, fmt.Errorf("nethttp: %w", rule.Problems(problems))
	}
	p.updating.Lock()
	defer p.updating.Unlock()
	p.urls.Store(&ready.urls)
	return p.group.Update(p.cfg.Clock.Now(), ready.instances), nil
}

// Problems returns what is in force but probably not what was meant, as warnings (rule.Problem.Warning): an own region (PoolConfig.Balance) that no instance of the list
// is in, mostly a misspelt name, with which requests go anywhere. There may be one for as long as the list of a registry is not complete.
func (p *Pool) Problems() rule.Problems {
	own := p.cfg.Balance.Region
	if own == "" {
		return nil
	}
	var known []string
	for _, in := range p.group.Snapshot(p.cfg.Clock.Now()).Instances {
		if in.Region == own {
			return nil
		}
		if in.Region != "" {
			known = append(known, in.Region)
		}
	}
	slices.Sort(known)
	want := "a region that instances are in"
	if known = slices.Compact(known); len(known) > 0 {
		want = "one of " + strings.Join(known[:min(len(known), 10)], ", ")
	}
	return rule.Problems{{Index: -1, Field: "balance.region", Message: fmt.Sprintf("no instance is in %q", own), Want: want, Warning: true}}
}

// Close frees the group if the pool is an engine's, and idle connections. Requests under way may end; new ones fail.
func (p *Pool) Close() {
	if p.closes {
		p.group.Close()
	}
	p.CloseIdleConnections()
}

// CloseIdleConnections is passed on to PoolConfig.Base; http.Client.CloseIdleConnections looks for it.
func (p *Pool) CloseIdleConnections() {
	if c, ok := p.cfg.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// errNoPath refuses a request for which it cannot be said where it goes below an instance's address.
var errNoPath = errors.New("nethttp: the request's URL is missing or has no path (URL.Opaque)")

// RoundTrip sends the request to an instance, and again to others as PoolConfig.Retry says. The response's Request is the one that was sent, to the instance that
// answered. Without an instance the error is isolation.ErrNoInstance or isolation.ErrAllOut (errors.Is).
func (p *Pool) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := false
	defer func() {
		if !sent && req.Body != nil {
			_ = req.Body.Close() // nothing was sent: there is no one to tell
		}
	}()
	if req.URL == nil || req.URL.Opaque != "" {
		return nil, errNoPath
	}
	if err := unsendable(req); err != nil {
		return nil, err
	}
	ask := balance.Request{Hash: p.hash(req)}
	a, err := p.pick(req, ask)
	if err != nil {
		return nil, fmt.Errorf("nethttp: service %q: %w", p.group.Service(), err)
	}
	sent = true
	out := newOutgoing(req)
	defer out.release()
	if p.budget == nil {
		return a.send(out.first())
	}
	return p.trying(&out, ask, a)
}

// trying sends the request until it is well, or must not be sent again.
func (p *Pool) trying(out *outgoing, ask balance.Request, a *attempt) (*http.Response, error) {
	p.budget.request()
	req, body := out.req, out.first()
	for try := 1; ; try++ {
		probe := a.call.Probe()
		if p.bounded(req, try) {
			a.bound(p.cfg.Retry.TryTimeout)
		}
		res, err := a.send(body)
		if res == nil && err == nil || try >= p.cfg.Retry.Tries || !worthRetrying(req, res, err, probe) {
			return res, err
		}
		ask.Tried = append(ask.Tried, a.call.Member())
		next, again := p.another(out, ask)
		if next == nil {
			return res, err
		}
		if res != nil {
			_ = res.Body.Close() // what an instance that failed has to say is not waited for
		}
		a, body = next, again
	}
}

// bounded reports whether a try must end in time for another one.
func (p *Pool) bounded(req *http.Request, try int) bool {
	if p.cfg.Retry.TryTimeout == 0 || !idempotent(req) {
		return false
	}
	return try < min(p.cfg.Retry.Tries, len(p.group.View(p.cfg.Clock.Now()).Candidates))
}

// another begins an attempt at an instance that has not had the request; nil if there must be none.
func (p *Pool) another(out *outgoing, ask balance.Request) (a *attempt, body io.ReadCloser) {
	if callersEnd(out.req) != nil {
		return nil, nil
	}
	took, ok := p.budget.take(p.cfg.Clock.Now())
	if !ok {
		return nil, nil
	}
	defer func() {
		if a == nil {
			p.budget.giveBack(took)
		}
	}()
	a, err := p.pick(out.req, ask)
	if err != nil {
		return nil, nil
	}
	if slices.Contains(ask.Tried, a.call.Member()) {
		a.drop()
		return nil, nil
	}
	body, ok = out.again()
	if !ok {
		a.drop()
		return nil, nil
	}
	return a, body
}

// hash returns what the request is hashed by.
func (p *Pool) hash(req *http.Request) uint64 {
	if p.cfg.Balance.Strategy != balance.ConsistentHash {
		return 0
	}
	key := p.cfg.HashBy(req)
	if key == "" {
		return rand.Uint64()
	}
	return balance.HashOf(key)
}
