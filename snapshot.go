package cordon

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// Snapshot is the engine at one moment. It encodes to JSON, durations in nanoseconds.
type Snapshot struct {
	// Time is the time of day.
	Time time.Time `json:"time"`
	// Resources are sorted by name.
	Resources []ResourceSnapshot `json:"resources"`
	// Services are the groups of instances, sorted by service; those of one service stand in the order in which they were made.
	Services []isolation.Snapshot `json:"services,omitempty"`
	// Sources are in the order they were watched.
	Sources []SourceSnapshot `json:"sources,omitempty"`
	// System is how the process stands by the system rules; nil while there are none.
	System *SystemSnapshot `json:"system,omitempty"`
	// Rules counts the rules in force by kind.
	Rules map[string]int `json:"rules"`
	// Overflowed counts look-ups of names beyond the bound on resources, Dropped idle resources that were dropped, and Faults internal faults.
	Overflowed int64 `json:"overflowed"`
	Dropped    int64 `json:"dropped"`
	Faults     int64 `json:"faults"`
}

// SourceSnapshot is one source's health; see datasource.Health.
type SourceSnapshot struct {
	// Source is the source's name.
	Source string `json:"source"`
	// Version is that of the document in force, as the source calls it; "" before the first.
	Version string `json:"version"`
	// Rules is how many rules the source owns, those included that gave way to rules of the same id of another source.
	Rules int `json:"rules"`
	// Applied is when the document in force was applied; zero, and not in JSON, if none was, as the other times are for never.
	Applied time.Time `json:"applied,omitzero"`
	// LastSuccess is when the source last delivered a document that was applied or was in force already.
	LastSuccess time.Time `json:"lastSuccess,omitzero"`
	// LastFailure is when the source last failed, or a document of it was refused; LastError is how, "" if all has been well since.
	LastFailure time.Time `json:"lastFailure,omitzero"`
	LastError   string    `json:"lastError,omitempty"`
	// Refused is how many rules of the document in force were refused, and Kept how many rules stay in force as they were because of that; 0 if all of it is in force. Problems are what is wrong with
	// the first few of them.
	Refused  int      `json:"refused,omitempty"`
	Kept     int      `json:"kept,omitempty"`
	Problems []string `json:"problems,omitempty"`
	// Absent is true while there is no document and none is needed; see datasource.Optional.
	Absent bool `json:"absent,omitempty"`
	// Updates counts the documents applied.
	Updates int64 `json:"updates"`
	// Failures counts failures of the source and documents refused.
	Failures int64 `json:"failures"`
	// Running is false once the watch has ended.
	Running bool `json:"running"`
	// Stale is true while the rules in force come from the last-good file and the source has not delivered a good document yet; StaleSince is then
	// when an earlier process put that document there.
	Stale      bool      `json:"stale,omitempty"`
	StaleSince time.Time `json:"staleSince,omitzero"`
	// LastGood is the path of the last-good file, "" if there is none; LastGoodError is what is wrong with it, "" if nothing is.
	LastGood      string `json:"lastGood,omitempty"`
	LastGoodError string `json:"lastGoodError,omitempty"`
}

// ResourceSnapshot is one resource. Totals are since the resource was made and never go back.
type ResourceSnapshot struct {
	// Name is the resource's name. Names beyond the engine's bound are counted together, under names as "(others of flow search)".
	Name string `json:"name"`
	// Passed counts admitted calls; those that ended are in Succeeded, Failed and Ignored, the rest InFlight.
	Passed    int64 `json:"passed"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Ignored   int64 `json:"ignored"`
	InFlight  int64 `json:"inFlight"`
	// Blocked counts refusals by kind of rule; GaveUp counts callers that gave up while waiting, or before.
	Blocked map[string]int64 `json:"blocked,omitempty"`
	GaveUp  int64            `json:"gaveUp"`
	// Shadow counts, by kind, the refusals that rules in shadow would have made.
	Shadow map[string]int64 `json:"shadow,omitempty"`
	// Recent is the recent past.
	Recent RecentSnapshot `json:"recent"`
	// Rules are the rules that apply, in the order they are checked.
	Rules []RuleSnapshot `json:"rules,omitempty"`
}

// RecentSnapshot is the calls of a resource that ended lately, all outcomes together. It is zero until the resource has had more than
// a hundred calls of one outcome.
type RecentSnapshot struct {
	// Length is how far back it reaches, 10 to 20 seconds.
	Length time.Duration `json:"length"`
	// Calls is how many ended.
	Calls int64 `json:"calls"`
	// Mean and the percentiles are of their latencies, within a 16th.
	Mean time.Duration `json:"mean"`
	P50  time.Duration `json:"p50"`
	P90  time.Duration `json:"p90"`
	P99  time.Duration `json:"p99"`
}

// RuleSnapshot is the state of one rule on one resource.
type RuleSnapshot struct {
	// Kind is the rule's kind: "flow", "concurrency", "breaker" or "param".
	Kind string `json:"kind"`
	// ID is the rule's id, which is unique within its kind.
	ID string `json:"id"`
	// Shadow is true for a rule that only counts what it would refuse.
	Shadow bool `json:"shadow,omitempty"`
	// Limit is the limit in force and Usage what counts against it now (see flow.Limiter and flow.Bulkhead; for a breaker the
	// threshold and the window's value). For a rule with a budget for each caller, Usage is that of all together. Of a rule on hot parameters Limit is that of values without an
	// override, and Usage what is in flight of all values, for mode concurrency; see Param.
	Limit float64 `json:"limit"`
	Usage float64 `json:"usage"`
	// Queued counts waiting calls.
	Queued int `json:"queued,omitempty"`
	// Blocked counts what the rule refused, or in shadow would have.
	Blocked int64 `json:"blocked"`
	// State, RetryIn and Reopened are a breaker's.
	State    string        `json:"state,omitempty"`
	RetryIn  time.Duration `json:"retryIn,omitempty"`
	Reopened int           `json:"reopened,omitempty"`
	// Param is how a rule on hot parameters stands: its hottest values, among others. For a rule with a budget for each caller the figures are added up, and there is no Top.
	Param *ParamSnapshot `json:"param,omitempty"`
}

// ParamSnapshot is the state of one rule on hot parameters on one resource. The limiter of a rule whose budget all its resources share is shown with each of them.
type ParamSnapshot struct {
	paramflow.Status
	// Param is the rule's path.
	Param string `json:"param"`
	// Absent counts the calls that did not have the value.
	Absent int64 `json:"absent"`
	// Unreadable counts, of these, those with a body that is not JSON, or too large.
	Unreadable int64 `json:"unreadable,omitempty"`
	// Overfull counts calls with more values than are looked at, extractor.MaxValues: what is above counts as one value, which all these calls share.
	Overfull int64 `json:"overfull,omitempty"`
	// Faults counts the calls in which the extractor panicked, or a method of an object in the arguments.
	Faults int64 `json:"faults,omitempty"`
}

// Snapshot returns the engine's state. It takes no lock that calls take but, each for a moment, those of rules on hot parameters, and costs about a microsecond per resource and
// some fifty per rule on hot parameters on it. The numbers of one resource
// agree with each other up to the calls that end while they are read. Groups of instances do what is due first, so observers may be told of it.
func (e *Engine) Snapshot() Snapshot {
	now := e.clock.Now()
	s := Snapshot{
		Time:       e.clock.Wall(now),
		Resources:  []ResourceSnapshot{},
		Rules:      map[string]int{},
		Overflowed: e.overflowed.Load(),
		Dropped:    e.resources.dropped.Load(),
		Faults:     e.faults.Load(),
	}
	rules := e.set.Load().all()
	s.Rules["flow"], s.Rules["concurrency"], s.Rules["breaker"] = len(rules.flow), len(rules.concurrency), len(rules.breaker)
	s.Rules["isolation"], s.Rules["param"] = len(rules.isolation), len(rules.param)
	s.Rules["system"], s.Rules["authority"], s.Rules["apiGroup"] = len(rules.system), len(rules.authority), len(rules.apiGroup)
	e.resources.all(func(r *resource) {
		if snap, ok := r.snapshot(now); ok {
			s.Resources = append(s.Resources, snap)
		}
	})
	slices.SortFunc(s.Resources, func(a, b ResourceSnapshot) int { return cmp.Compare(a.Name, b.Name) })
	for _, g := range e.Groups() {
		s.Services = append(s.Services, g.Snapshot(now))
	}
	s.System = e.systemSnapshot(now)
	e.applyMu.Lock()
	defer e.applyMu.Unlock()
	for _, w := range e.watches {
		h := w.pump.Health()
		src := SourceSnapshot{
			Source: h.Source, Version: h.Version, Rules: w.owner.rules.count(), Applied: h.Applied, LastSuccess: h.LastSuccess,
			LastFailure: h.LastFailure, Updates: h.Updates, Failures: h.Failures, Running: h.Running,
			Stale: h.Stale, StaleSince: h.StaleSince, LastGood: h.LastGood, Absent: h.Absent,
		}
		src.inPart(w.applied.Load())
		if h.LastError != nil {
			src.LastError = h.LastError.Error()
		}
		if h.LastGoodError != nil {
			src.LastGoodError = h.LastGoodError.Error()
		}
		s.Sources = append(s.Sources, src)
	}
	return s
}

const (
	// mostProblems is how many problems a SourceSnapshot has, and longestProblem how many bytes one of them.
	mostProblems   = 5
	longestProblem = 300
)

// inPart says what of the document in force is not in force; rep is the report on it, nil if there is none.
func (s *SourceSnapshot) inPart(rep *rule.Report) {
	if rep == nil || rep.OK() {
		return
	}
	s.Refused, s.Kept = rep.Refused(), len(rep.Kept)
	for _, p := range rep.Problems {
		if p.Warning {
			continue
		}
		if len(s.Problems) == mostProblems {
			break
		}
		text := p.Error()
		if len(text) > longestProblem {
			text = strings.ToValidUTF8(text[:longestProblem], "") + "…"
		}
		s.Problems = append(s.Problems, text)
	}
}

// ResourceSnapshot returns the state of one resource, and false if there is none of that name.
func (e *Engine) ResourceSnapshot(name string) (ResourceSnapshot, bool) {
	r := e.resources.lookup(name)
	if r == nil {
		return ResourceSnapshot{}, false
	}
	return r.snapshot(e.clock.Now())
}

func (r *resource) snapshot(now time.Duration) (ResourceSnapshot, bool) {
	t, gone := r.peek()
	if t == nil {
		return ResourceSnapshot{}, false
	}
	s := ResourceSnapshot{
		Name:      r.name,
		Succeeded: r.ended[Success].Load(),
		Failed:    r.ended[Failure].Load(),
		Ignored:   r.ended[Ignored].Load(),
		GaveUp:    r.gaveUp.Load(),
	}
	s.Passed = r.passed.Load() // after the ends, so that InFlight is not negative
	s.InFlight = s.Passed - s.Succeeded - s.Failed - s.Ignored
	s.Recent = r.recent(now)
	c := t.checks()
	for _, a := range c.authority {
		s.add(a.tally, a.rule.ID, a.rule.Shadow, RuleSnapshot{})
	}
	for _, b := range c.breakers {
		s.add(b.tally, b.rule.ID, b.rule.Shadow, b.snapshot(now))
	}
	for _, b := range slices.Concat(c.bulkheads, c.queues) {
		s.add(b.tally, b.rule.ID, b.rule.Shadow, b.snapshot())
	}
	for _, f := range slices.Concat(c.rates, c.paces) {
		s.add(f.tally, f.rule.ID, f.rule.Shadow, f.snapshot(now))
	}
	for _, p := range c.params {
		s.add(p.tally, p.rule.ID, p.rule.Shadow, p.snapshot(now))
	}
	if l := r.system.Load(); l != nil {
		for _, st := range *l {
			count(&s.Blocked, KindSystem, st.blocked.Load())
			count(&s.Shadow, KindSystem, st.shadowed.Load())
		}
	}
	gone[KindCustom].blocked = r.blockedByChecker.Load()
	for k, n := range gone {
		count(&s.Blocked, Kind(k), n.blocked)
		count(&s.Shadow, Kind(k), n.shadowed)
	}
	return s, true
}

// peek returns the resource's table without waking a resting resource, and the counts of rules that apply no longer.
func (r *resource) peek() (*table, [kinds]refusalCounts) {
	var gone [kinds]refusalCounts
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped {
		return nil, gone
	}
	t := r.table.Load()
	rests := t == nil && r.resting != nil
	if rests {
		t = r.resting
	}
	if set := r.eng.set.Load(); t == nil || t.version != set.version {
		t = newTable(r, set, r.matched(set), t)
		if rests {
			r.resting = t
		} else {
			r.table.Store(t)
		}
	}
	if r.gone != nil {
		gone = *r.gone // not before the table is made, which adds to it
	}
	return t, gone
}

func (r *resource) recent(now time.Duration) RecentSnapshot {
	var p [3]time.Duration
	calls := r.histogram.Percentiles(now, []float64{0.5, 0.9, 0.99}, p[:])
	if calls == 0 {
		return RecentSnapshot{}
	}
	return RecentSnapshot{
		Length: histogramSpan + now%histogramSpan, Calls: calls, Mean: r.histogram.Mean(now), P50: p[0], P90: p[1], P99: p[2],
	}
}

// add appends a rule's state and counts its refusals.
func (s *ResourceSnapshot) add(t *tally, id string, shadow bool, rs RuleSnapshot) {
	rs.Kind, rs.ID, rs.Shadow = t.kind.String(), id, shadow
	blocked, shadowed := t.blocked.Load(), t.shadowed.Load()
	rs.Blocked = blocked
	if shadow {
		rs.Blocked = shadowed
	}
	count(&s.Blocked, t.kind, blocked)
	count(&s.Shadow, t.kind, shadowed)
	s.Rules = append(s.Rules, rs)
}

// count adds n to a kind's count, if it is not 0.
func count(m *map[string]int64, k Kind, n int64) {
	if n == 0 {
		return
	}
	if *m == nil {
		*m = map[string]int64{}
	}
	(*m)[k.String()] += n
}

func (s *breakerState) snapshot(now time.Duration) RuleSnapshot {
	st := s.breaker.Status(now)
	rs := RuleSnapshot{Limit: s.rule.Threshold, State: st.State.String(), RetryIn: st.RetryIn, Reopened: st.Reopened}
	switch s.rule.Trip {
	case breaker.ErrorRatio:
		rs.Usage = float64(st.Failures) / float64(max(st.Calls, 1))
	case breaker.SlowRatio:
		rs.Usage = float64(st.Slow) / float64(max(st.Calls, 1))
	default:
		rs.Usage = float64(st.Failures)
	}
	return rs
}

func (s *bulkheadState) snapshot() RuleSnapshot {
	rs := RuleSnapshot{Limit: float64(s.rule.Limit)}
	add := func(b interface {
		InFlight() int
		Queued() int
	}) {
		rs.Usage += float64(b.InFlight())
		rs.Queued += b.Queued()
	}
	if s.bulkhead != nil {
		add(s.bulkhead)
		return rs
	}
	for _, b := range s.callers.all() {
		add(b)
	}
	return rs
}

func (s *flowState) snapshot(now time.Duration) RuleSnapshot {
	rs := RuleSnapshot{Limit: s.rule.Limit}
	switch {
	case s.gauge != nil:
		rs.Usage = float64(s.gauge.Count(now))
	case s.limiter != nil:
		rs.Limit, rs.Usage = s.limiter.Limit(now), s.limiter.Usage(now)
	default:
		for _, l := range s.callers.all() {
			rs.Usage += l.Usage(now)
		}
	}
	return rs
}
