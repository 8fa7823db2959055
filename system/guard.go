package system

import (
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Guard enforces a set of rules. Its methods are safe for concurrent use; times are readings of one clock, which may come in any order.
//
// Concurrency and Rate are exact: no racing callers ever pass their limits, whatever is edited or given back meanwhile. Concurrency counts what is in flight at every moment; Rate admits at most its limit in any half-open
// second, by the times at which it decides (the callers' readings; of one that comes late, the latest reading before it). Rules on Load, CPU and ResponseTime decide by what was measured: they look at most
// 50 ms back for response times, and 250 ms for readings of the machine, which the first call that comes then takes while others go on by what is known. What is not yet measured, could not be read or is
// older than a second decides nothing.
type Guard struct {
	// What calls only read: written at ticks and edits.
	next    atomic.Int64 // the reading of the clock from which a tick is due
	set     atomic.Pointer[set]
	verdict atomic.Pointer[verdict] // nil while all is well
	_       [64]byte

	// entered and ended are cost, and spent response times, that ever were: sums that may run over, as only their differences count. What entered and has not ended is in flight.
	entered    atomic.Int64
	_          [56]byte
	ended      atomic.Int64
	spent      atomic.Int64
	unmeasured atomic.Int64 // of ended: cost of calls whose response time is not known
	_          [40]byte

	reader Reader
	rate   window // of all rules on Rate that are not in shadow: the lowest limit holds

	mu       sync.Mutex // guards what follows, and the setting of set and verdict
	recent   recent
	capacity capacity
	probe    probe
	bound    atomic.Int64  // up to what is in flight rules with BBR admit while they refuse, 0 while it is not known; written under mu
	busy     bool          // a call is reading the machine
	due      time.Duration // when the next reading is
	at       time.Duration // of the latest decision
	cpu      gauge
	load     gauge
}

// gauge is what a reading of the machine said.
type gauge struct {
	value float64
	known bool
	at    time.Duration
}

const (
	// readEvery is how often the machine is read.
	readEvery = 250 * time.Millisecond
	// freshFor is how old a reading may be to decide anything.
	freshFor = time.Second
)

// now returns the reading, if it is fresh.
func (g gauge) now(now time.Duration) (float64, bool) {
	return g.value, g.known && now-g.at <= freshFor
}

const (
	// none is no limit.
	none = math.MaxInt64
	// mostShadows is how many rules in shadow are asked.
	mostShadows = 32
)

// set is the rules in force. It is immutable but for what states count.
type set struct {
	states  []*state // in written order
	most    int64    // the lowest limit on Concurrency
	full    *state   // whose that is
	rate    *state   // with the lowest limit on Rate
	shadows []*state
	cpu     bool // some rule needs readings of that
	load    bool
}

// state is a rule in force.
type state struct {
	rule   Rule
	counts *counts
	window *window // of a rule on Rate in shadow: what it would have admitted
	// passed reports whether the limit of Load, CPU or ResponseTime is passed, and observed is the metric at the last tick.
	passed   atomic.Bool
	observed atomic.Uint64
}

// counts is what a rule refused, and in shadow would have. It outlives edits of the rule.
type counts struct{ blocked, shadowed atomic.Int64 }

// verdict is what was decided at a tick. It is immutable.
type verdict struct {
	// refuses is the first rule that refuses all calls, nil for none; what it saw; and until when at the earliest.
	refuses *state
	saw     float64
	until   time.Duration
	// bounds is the first rule that admits what can be worked on, nil for none; what it saw; and up to what is in flight it admits.
	bounds   *state
	measured float64
	bound    int64
}

// A Permit is what an admitted call holds besides its place in flight, for Cancel.
type Permit struct {
	set   *set          // if it has more to ask than what is in flight
	at    time.Duration // of the earliest decision on a rate
	took  uint32        // the rules in shadow that admitted it by their rates
	would uint32        // the rules in shadow that would have refused it
}

// A Refusal says which rule refused a call and why.
type Refusal struct {
	// Rule is the rule. It must not be changed; the address is the same until the rule is edited.
	Rule *Rule
	// Observed is what was seen: the metric, that of a response time in seconds, without the call.
	Observed float64
	// RetryAfter is after what time the call could pass if nothing else came, as far as that can be said; 0 if it cannot, negative if never.
	RetryAfter time.Duration
}

// Limit returns the rule's limit, that of a response time in seconds.
func (r Refusal) Limit() float64 { return r.Rule.limit() }

// Cause returns an error that is ErrOverloaded, and says by what metric.
func (r Refusal) Cause() error { return r.Rule.Metric.cause() }

// NewGuard returns a guard without rules, which admits all calls and measures nothing of the machine. reader reads it for rules on CPU and Load; nil means NewReader.
func NewGuard(reader Reader) *Guard {
	if reader == nil {
		reader = NewReader()
	}
	g := &Guard{reader: reader, due: math.MinInt64, at: math.MinInt64, probe: probe{next: math.MinInt64}}
	g.next.Store(math.MinInt64)
	g.set.Store(&set{most: none})
	return g
}

// Update puts rules in force, which must be valid and have ids of their own. What is in flight, what was admitted and measured, and the counts of rules by their ids stay. Of more than 32 rules in shadow the further ones count
// nothing.
func (g *Guard) Update(rules []Rule, now time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.set.Load()
	s := &set{most: none}
	for _, r := range rules {
		s.add(old.carry(r, &g.rate))
	}
	if s.rate != nil {
		g.rate.set(s.rate.rule.Limit)
	}
	g.set.Store(s)
	if s.cpu && !old.cpu || s.load && !old.load {
		g.due = math.MinInt64 // nobody has read that
		g.next.Store(math.MinInt64)
	}
	g.decide(now)
}

// carry returns the state of a rule: that which it had, or one that goes on from it.
func (s *set) carry(r Rule, admitted *window) *state {
	st := &state{rule: r, counts: new(counts)}
	if i := slices.IndexFunc(s.states, func(o *state) bool { return o.rule.ID == r.ID }); i >= 0 {
		old := s.states[i]
		if old.rule == r {
			return old
		}
		st.counts, st.window = old.counts, old.window
		if old.window == nil && old.rule.Metric == Rate && r.Metric == Rate && r.Shadow {
			st.window = new(window)
			st.window.copy(admitted)
		}
	}
	if r.Metric != Rate || !r.Shadow {
		st.window = nil
		return st
	}
	if st.window == nil {
		st.window = new(window)
	}
	st.window.set(r.Limit)
	return st
}

// add adds a rule to a set that is being made.
func (s *set) add(st *state) {
	s.states = append(s.states, st)
	r := &st.rule
	s.cpu, s.load = s.cpu || r.Metric == CPU, s.load || r.Metric == Load
	switch {
	case r.Shadow && len(s.shadows) < mostShadows:
		s.shadows = append(s.shadows, st)
	case r.Shadow:
	case r.Metric == Concurrency && int64(r.Limit) < s.most:
		s.most, s.full = int64(r.Limit), st
	case r.Metric == Rate && (s.rate == nil || r.Limit < s.rate.rule.Limit):
		s.rate = st
	}
}

// Enter admits a call of the given cost (at least 1) at time now, or refuses it. An admitted one is to be ended once, by Exit, or to be given back, by Cancel.
func (g *Guard) Enter(now time.Duration, cost int) (p Permit, r Refusal, ok bool) {
	if int64(now) >= g.next.Load() {
		g.tick(now)
	}
	s, v := g.set.Load(), g.verdict.Load()
	n := int64(max(cost, 1))
	if v != nil && v.refuses != nil {
		return Permit{}, v.refuses.refuse(v.saw, max(v.until-now, time.Millisecond)), false
	}
	for {
		entered := g.entered.Load()
		flying := entered - g.ended.Load() // in this order: what ends meanwhile makes it less than it was, not more
		if flying+n > s.most {
			return Permit{}, s.full.refuse(float64(flying), never(n > s.most)), false
		}
		if v != nil && v.bounds != nil && flying > 0 && flying+n > v.bound {
			return Permit{}, v.bounds.refuse(v.measured, 0), false
		}
		if g.entered.CompareAndSwap(entered, entered+n) {
			break
		}
	}
	if s.rate != nil || len(s.shadows) > 0 {
		return g.enterFurther(s, now, n)
	}
	return Permit{}, Refusal{}, true
}

// never is a retry-after of a call that can never pass, or of one of which nothing can be said.
func never(yes bool) time.Duration {
	if yes {
		return -1
	}
	return 0
}

// enterFurther makes the checks that few sets have, of a call that has its place in flight.
func (g *Guard) enterFurther(s *set, now time.Duration, n int64) (p Permit, r Refusal, ok bool) {
	p.set, p.at = s, math.MaxInt64
	if s.rate != nil {
		at, used, retryAfter, ok := g.rate.acquire(now, n)
		if !ok {
			g.entered.Add(-n)
			return Permit{}, s.rate.refuse(float64(used), retryAfter), false
		}
		p.at = at
	}
	for i, st := range s.shadows {
		bit := uint32(1) << i
		switch st.rule.Metric {
		case Rate:
			if at, _, _, ok := st.window.acquire(now, n); ok {
				p.at, p.took = min(p.at, at), p.took|bit
				continue
			}
		case Concurrency:
			if g.InFlight() <= int64(st.rule.Limit) {
				continue
			}
		default:
			if !st.passed.Load() || st.rule.reads() && st.rule.Admission == BBR && !g.beyond(n) {
				continue
			}
		}
		st.counts.shadowed.Add(1)
		p.would |= bit
	}
	return p, Refusal{}, true
}

// refuse counts a refusal.
func (st *state) refuse(observed float64, retryAfter time.Duration) Refusal {
	st.counts.blocked.Add(1)
	return Refusal{Rule: &st.rule, Observed: observed, RetryAfter: retryAfter}
}

// seen returns the metric at the last tick.
func (st *state) seen() float64 { return math.Float64frombits(st.observed.Load()) }

// InFlight returns the cost in flight.
func (g *Guard) InFlight() int64 {
	entered := g.entered.Load()
	return max(entered-g.ended.Load(), 0)
}

// Doubted reports whether rules in shadow would have refused the call.
func (p Permit) Doubted() bool { return p.would != 0 }

// Shadowed yields what rules in shadow would have said of an admitted call.
func (g *Guard) Shadowed(p Permit) iter.Seq[Refusal] {
	return func(yield func(Refusal) bool) {
		for i := range mostShadows {
			if p.would&(1<<i) == 0 {
				continue
			}
			st := p.set.shadows[i]
			observed := st.seen()
			switch st.rule.Metric {
			case Rate:
				observed = float64(st.window.held())
			case Concurrency:
				observed = float64(g.InFlight())
			}
			if !yield(Refusal{Rule: &st.rule, Observed: observed}) {
				return
			}
		}
	}
}

// Exit ends a call that was admitted with that cost, at time now. One whose latency is below 0 counts as ended, and its response time as not known.
func (g *Guard) Exit(now time.Duration, cost int, latency time.Duration) {
	if int64(now) >= g.next.Load() {
		g.tick(now)
	}
	n := int64(max(cost, 1))
	if latency < 0 {
		g.unmeasured.Add(n)
	} else {
		g.spent.Add(spent(latency, n)) // before the count, see look
	}
	g.ended.Add(n)
}

// Cancel gives back an admission, as if it had not been made.
func (g *Guard) Cancel(cost int, p Permit) {
	n := int64(max(cost, 1))
	g.entered.Add(-n)
	if p.set == nil {
		return
	}
	if p.set.rate != nil {
		g.rate.cancel(p.at, n)
	}
	for i, st := range p.set.shadows {
		if st.window != nil && p.took&(1<<i) != 0 {
			st.window.cancel(p.at, n)
		}
	}
}
