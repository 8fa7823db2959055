package gateway

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

const (
	maxChanges  = 256 // newest changes kept: breakers, instances, rules, faults
	maxRefusals = 256 // kinds of refusals kept
	maxOrigin   = 100 // bytes of a caller's name that are kept
)

// Event is something that happened, as the admin handler tells it.
type Event struct {
	// Time is when it happened; for refusals, the last time.
	Time time.Time `json:"time"`
	// What is "refused", "breaker", "isolation", "crowded", "rules", "source", "warning" or "fault".
	What string `json:"what"`
	// Kind, Rule and Resource (of isolation: the service) say which rule it is about, and where.
	Kind     string `json:"kind,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Resource string `json:"resource,omitempty"`
	// Route is the route it is about, of isolation: routes may share a resource, and each judges its upstreams by itself.
	Route string `json:"route,omitempty"`
	// Origin is the caller of the last refusal, if it was named: its first 100 bytes.
	Origin string `json:"origin,omitempty"`
	// Text says what happened in words.
	Text string `json:"text"`
	// Count is how often, for refusals: those of one rule at one resource are one event.
	Count int64 `json:"count,omitempty"`
	// Shadow is true when the rule only would have done it.
	Shadow bool `json:"shadow,omitempty"`
}

// events keeps what happened last, in bounded room. It is safe for concurrent use.
type events struct {
	clk clock.Clock
	log *limitedLog

	mu       sync.Mutex // guards what follows
	changes  []Event    // a ring once it is full
	next     int        // where the ring's oldest is
	refusals map[refusalKey]*refusals
}

type refusalKey struct {
	kind           cordon.Kind
	rule, resource string
	shadow         bool
}

type refusals struct {
	last   time.Duration
	err    *cordon.BlockedError
	origin string
	count  int64
}

func newEvents(clk clock.Clock, log *limitedLog) *events {
	return &events{clk: clk, log: log, refusals: map[refusalKey]*refusals{}}
}

func (e *events) observer() cordon.Observer {
	return cordon.Observer{Block: e.block, Breaker: e.breaker, Isolation: e.isolation, Report: e.report, Source: e.source, Fault: e.fault, Param: e.param}
}

func (e *events) block(b cordon.BlockEvent) {
	key := refusalKey{b.Err.Kind, b.Err.RuleID, b.Err.Resource, b.Shadow}
	now := e.clk.Now()
	origin := b.Origin[:min(len(b.Origin), maxOrigin)] // callers choose it
	e.mu.Lock()
	r := e.refusals[key]
	if r == nil {
		e.makeRoom()
		r = &refusals{}
		e.refusals[key] = r
	}
	r.last, r.err, r.origin = now, b.Err, origin
	r.count++
	e.mu.Unlock()
	if e.log.enabled(slog.LevelInfo) { // a refusal must stay cheap
		attrs := []slog.Attr{slog.Any("reason", b.Err), slog.Bool("shadow", b.Shadow)}
		if origin != "" {
			attrs = append(attrs, slog.String("origin", origin))
		}
		e.log.log(slog.LevelInfo, "request refused", fmt.Sprint(key), attrs...)
	}
}

// makeRoom drops the refusals that ceased the longest ago if there are too many. The caller holds mu.
func (e *events) makeRoom() {
	if len(e.refusals) < maxRefusals {
		return
	}
	var oldest refusalKey
	first := true
	for key, r := range e.refusals {
		if first || r.last < e.refusals[oldest].last {
			oldest, first = key, false
		}
	}
	delete(e.refusals, oldest)
}

func (e *events) breaker(b cordon.BreakerEvent) {
	e.change(Event{
		Time: b.Time, What: "breaker", Kind: cordon.KindBreaker.String(), Rule: b.RuleID, Resource: b.Resource,
		Text: b.Transition.From.String() + " → " + b.Transition.To.String() + ": " + b.Transition.Reason, Shadow: b.Shadow,
	})
}

func (e *events) isolation(i cordon.IsolationEvent) { e.decided(i.Event, i.Time) }

// region takes a balancer's decision about a whole region.
func (e *events) region(i isolation.Event) {
	i.Address = "region " + i.Address
	e.decided(i, e.clk.Wall(i.At))
}

func (e *events) decided(i isolation.Event, at time.Time) {
	e.change(Event{
		Time: at, What: "isolation", Kind: "isolation", Rule: i.RuleID, Resource: i.Service, Route: i.Group, Text: isolationText(&i), Shadow: i.Shadow,
	})
}

func (e *events) param(p cordon.ParamEvent) {
	text := fmt.Sprintf("no longer crowded: pressure %.2f", p.Pressure)
	if p.Crowded {
		text = fmt.Sprintf("crowded: pressure %.2f; more values are in use than the rule expects (values), some may be refused too early", p.Pressure)
	}
	e.change(Event{Time: p.Time, What: "crowded", Kind: cordon.KindParam.String(), Rule: p.RuleID, Resource: p.Resource, Text: text, Shadow: p.Shadow})
}

func (e *events) report(r rule.Report) {
	e.change(Event{Time: r.Time, What: "rules", Text: r.String()})
}

func (e *events) source(s cordon.SourceEvent) {
	text := s.Source + ": delivers again, its rules are stale no longer"
	if s.Stale {
		text = fmt.Sprintf("%s: stale: the rules in force were kept on %s, until it delivers", s.Source, s.StaleSince.Format(time.DateTime))
	}
	e.change(Event{Time: s.Time, What: "source", Text: text})
}

func (e *events) fault(f cordon.FaultEvent) {
	e.change(Event{Time: e.clk.Wall(e.clk.Now()), What: "fault", Resource: f.Resource, Text: f.Where + ": " + f.Err.Error()})
}

func (e *events) change(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.changes) < maxChanges {
		e.changes = append(e.changes, ev)
		return
	}
	e.changes[e.next] = ev
	e.next = (e.next + 1) % maxChanges
}

// list returns the events, newest first.
func (e *events) list() []Event {
	e.mu.Lock()
	list := slices.Clone(e.changes)
	for key, r := range e.refusals {
		list = append(list, Event{
			Time: e.clk.Wall(r.last), What: "refused", Kind: key.kind.String(), Rule: key.rule, Resource: key.resource,
			Origin: r.origin, Text: r.err.Error(), Count: r.count, Shadow: key.shadow,
		})
	}
	e.mu.Unlock()
	slices.SortStableFunc(list, func(a, b Event) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.What, b.What), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Rule, b.Rule))
	})
	return list
}
