package paramflow

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/rule"
)

// Limiter enforces one Rule on one resource (or, if the rule is Shared, on all that it matches). Its methods are safe for concurrent use. Times are readings of one clock; they may
// come in any order, and a late one never admits more than the rule allows.
type Limiter struct {
	seed    extractor.Seed
	origin  int64 // the reading that ticks are counted from
	shift   uint8 // which brings a hash to the number of its stripe
	stripes []stripe
	plan    *plan // written with all stripes locked, so that one locked stripe is enough to read it

	mu      sync.Mutex // serialises updates
	crowded atomic.Bool
}

// A Permit is what an admitted call holds of one value. It is a small value: keep it to give the call back or, for concurrency, to end it, once. The zero Permit holds nothing.
type Permit struct {
	hash   uint64
	flight *flight
	end    int64 // when the call is earned back, or the turn after its own begins; with what its stripe had returned until then
	span   int64 // ticks that it counts for; calls for concurrency
	gen    uint32
	place  int32 // where the value's past was counted: inShared, inOwn, or 1 more than the index of a named value
}

const (
	inShared int32 = -1
	inOwn    int32 = 0
)

// NewLimiter returns a limiter for the rule as of now. It fails if the rule has faults (rule.Problems). The rule's resource, param and origin are not looked at. The seed keys hashes: whoever
// knows it could make values share their cells on purpose, so it is secret and random (extractor.NewSeed). All memory is taken here.
func NewLimiter(r Rule, now time.Duration, seed extractor.Seed) (*Limiter, error) {
	if err := r.faults(); err != nil {
		return nil, err
	}
	p, err := newPlan(r, seed, nil)
	if err != nil {
		return nil, err
	}
	lines := linesFor(r.Values)
	stripes := min(max(lines/stripeLines, minStripes), maxStripes)
	l := &Limiter{seed: seed, origin: int64(now), plan: p, stripes: make([]stripe, stripes), shift: uint8(64 - bits.TrailingZeros(uint(stripes)))}
	for i := range l.stripes {
		l.stripes[i].ranks.dice = uint64(i)*0x9E3779B97F4A7C15 + 1
		l.stripes[i].latest, l.stripes[i].edited = math.MinInt64, math.MinInt64
	}
	l.furnish(p, 0, p.patterns != nil)
	return l, nil
}

// faults returns the faults of what a Limiter looks at as an error, or nil.
func (r Rule) faults() error {
	if faults := rule.Problems(r.check()).Faults(); len(faults) > 0 {
		return faults
	}
	return nil
}

// furnish gives the stripes the memory that the plan needs, with room for classes or not, and with what they hold at t. Caller must hold all stripes, or be the only one.
func (l *Limiter) furnish(p *plan, t int64, classes bool) {
	var each int
	if p.rule.Mode != Concurrency {
		each = max(linesFor(p.rule.Values)/len(l.stripes), 1)
	}
	classes = classes && each > 0
	if each != len(l.stripes[0].lines) || classes && l.stripes[0].classes == nil {
		lines := make([]line, each*len(l.stripes))
		for i := range l.stripes {
			s := &l.stripes[i]
			s.cells = s.cells.resize(lines[i*each:(i+1)*each:(i+1)*each], t, classes)
		}
	}
	for i := range l.stripes {
		s := &l.stripes[i]
		s.guesses = nil
		if p.remembers() {
			s.guesses = make([]guess, guesses)
		}
	}
}

// stripe returns the stripe of a hash, and the tag of the value in it. No tag is 0, which cells have that were never used.
func (l *Limiter) stripe(hash uint64) (s *stripe, tag uint32) {
	return &l.stripes[hash>>(l.shift&63)], max(uint32(hash), 1)
}

// Acquire asks for one call of a value, of the given cost (at least 1), at time now. If ok, the caller waits for wait (0 but for Pace), after all other checks, before it goes on, and gives
// the permit back with Cancel if it does not go on after all; in mode Concurrency it ends the call with Release. If not, retryAfter is after what time the call could pass if nothing
// else came: 0 if that cannot be known, -1 if never, as for a cost above Burst (for Pace above Limit). A value that Only leaves out passes uncounted, with the zero Permit.
func (l *Limiter) Acquire(now time.Duration, v extractor.Value, cost int) (p Permit, wait, retryAfter time.Duration, ok bool) {
	hash := v.Hash(l.seed)
	t, n := l.ticks(now), int64(max(cost, 1))
	s, tag := l.stripe(hash)
	s.mu.Lock()
	pl := l.plan
	w := want{tag: tag, t: t, cost: n, place: inShared, cell: -1}
	if i := pl.named.find(v, hash); i >= 0 {
		w.named = &pl.named.values[i]
		w.allowance, w.at, w.place = w.named.allowance, w.named.at, int32(i)+1
	} else {
		if w.class = s.class(pl, v, hash); w.class == uncounted {
			s.mu.Unlock()
			return Permit{}, 0, 0, true
		}
		w.allowance = pl.classes[w.class]
		if pl.rule.Mode != Concurrency {
			w.find(s, pl)
		}
	}
	switch {
	case n > w.most:
		retryAfter = -1
	case pl.rule.Mode == Concurrency:
		p.flight, ok = s.enter(pl.key(v, hash), n, w.most)
		if ok {
			p.gen, p.span = p.flight.serial, n
		}
	case w.at > t && t < s.edited && w.at <= s.edited:
		// The past was over when the rule was edited, and is not for this reading, which is older: how much of it would count now cannot be told any more.
		retryAfter = nanos(s.edited - t)
	case pl.rule.Mode == Pace:
		wait, retryAfter, ok = w.pace(pl)
	default:
		retryAfter, ok = w.reject()
	}
	if ok {
		s.passed++
		if pl.rule.Mode != Concurrency {
			w.keep(s)
			s.latest = max(s.latest, t)
			p.end, p.span, p.gen, p.place = w.at+s.returned, n*w.gap, pl.gen, w.place
		}
		p.hash = hash
	} else {
		s.refused++
		if w.place == inShared && w.at > t && pl.rule.Mode != Concurrency && retryAfter > 0 {
			s.doubtful++
		}
	}
	s.ranks.count(v, hash, t, w.limit, ok, pl.rule.Redact)
	s.mu.Unlock()
	return p, wait, retryAfter, ok
}

// key returns what a value is known by among those in flight.
func (p *plan) key(v extractor.Value, hash uint64) extractor.Value {
	if p.hashed {
		return extractor.Int(int64(hash))
	}
	return v
}

// A want is one decision under way.
type want struct {
	allowance
	named *named
	at    int64 // until when the value's past counts
	t     int64
	cost  int64
	cell  int
	place int32
	tag   uint32
	class uint16
}

// find looks up the past of a value without an override of its own.
func (w *want) find(s *stripe, p *plan) {
	w.at, w.cell = s.until(w.tag)
	if w.cell < 0 {
		return
	}
	w.place = inOwn
	if s.classes != nil && s.classes[w.cell] != w.class {
		// Patterns were edited since, and only now it is known which fits the value.
		w.at = carry(w.at, w.t, p.measures[s.classes[w.cell]], w.allowance)
	}
}

// keep writes down the past of a call that was admitted.
func (w *want) keep(s *stripe) {
	if w.named != nil {
		w.named.at = w.at
		return
	}
	w.place = inOwn
	if s.set(w.tag, w.cell, w.at, w.t, w.class) < 0 {
		w.place = inShared
	}
}

// reject decides by GCRA: after k calls that an interval admits from time a on, at is at least a + k·gap, and it is at most room after the last of them. So k·gap is at most the
// interval's length and room, in whatever order readings come.
func (w *want) reject() (retryAfter time.Duration, ok bool) {
	next := max(w.at, w.t) + w.cost*w.gap
	if over := next - w.t - w.room; over > 0 {
		return nanos(over), false
	}
	w.at = next
	return 0, true
}

// pace promises a turn: a call of cost n takes n turns and passes at the last of them.
func (w *want) pace(p *plan) (wait, retryAfter time.Duration, ok bool) {
	turn := max(w.t, w.at+(w.cost-1)*w.gap)
	ahead := turn - w.t
	over := ahead - p.maxWait
	if p.maxQueue > 0 {
		over = max(over, ahead-p.maxQueue*w.gap)
	}
	if over > 0 {
		return 0, nanos(over), false
	}
	w.at = turn + w.gap
	return nanos(ahead), 0, true
}

// Cancel gives a permit back whose call was not made, as far as that is still possible; at most once. It never lets the limit be passed. Reject gives back what is not yet earned back,
// Pace the last turn that was promised, Concurrency the place. Nothing comes back from before an edit, nor to a value that shares its cells.
func (l *Limiter) Cancel(now time.Duration, p Permit) {
	if p.span == 0 {
		return
	}
	s, tag := l.stripe(p.hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.cancel(now, s, tag, p)
}

// CancelAll is Cancel for the permits of several values, no two of the same value, that one call held. What is given back for one of them does not count against the others, as it does if
// each is given to Cancel: which values these are cannot be told there. It puts the permits into another order.
func (l *Limiter) CancelAll(now time.Duration, permits []Permit) {
	slices.SortFunc(permits, func(a, b Permit) int { return cmp.Compare(a.hash, b.hash) }) // so those of one stripe stand together
	for len(permits) > 0 {
		s, _ := l.stripe(permits[0].hash)
		s.mu.Lock()
		returned := s.returned
		for len(permits) > 0 {
			p := permits[0]
			of, tag := l.stripe(p.hash)
			if of != s {
				break
			}
			if p.span != 0 {
				p.end += s.returned - returned // the others have not moved its end
				l.cancel(now, s, tag, p)
			}
			permits = permits[1:]
		}
		s.mu.Unlock()
	}
}

// cancel gives a permit back. Caller must hold the stripe.
func (l *Limiter) cancel(now time.Duration, s *stripe, tag uint32, p Permit) {
	s.uncount(p.hash)
	if p.flight != nil {
		s.leave(p.flight, p.gen, p.span)
		return
	}
	pl := l.plan
	if p.gen != pl.gen {
		return
	}
	var at *int64
	switch {
	case p.place > 0:
		at = &pl.named.values[p.place-1].at
	case p.place == inOwn:
		if cell := s.find(tag); cell >= 0 {
			at = s.own(cell)
		}
	}
	if at == nil {
		return
	}
	if pl.rule.Mode == Pace {
		if *at == p.end-s.returned {
			*at -= p.span
		}
		return
	}
	s.giveBack(at, p, l.ticks(now))
}

// giveBack takes a call out of a value's past. Without it the calls after it, none of them later than latest, would have been earned back sooner by at least what is missing from then to the
// end of the call: so much can be given back, and no more, as time that passed without calls earns nothing. What was given back since has moved the end.
func (s *stripe) giveBack(at *int64, p Permit, t int64) {
	end := p.end - s.returned
	if back := min(p.span, end-max(t, s.latest)); back > 0 {
		*at -= back
		s.returned += back
	}
}

// uncount takes a call out of what passed.
func (s *stripe) uncount(hash uint64) {
	s.passed--
	s.ranks.uncount(hash)
}

// Release ends a call that was admitted in mode Concurrency. It must come once for each permit.
func (l *Limiter) Release(p Permit) {
	if p.flight == nil {
		return
	}
	s, _ := l.stripe(p.hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(p.flight, p.gen, p.span)
}

// Limit returns the limit of a value, as the rule says it; for a value that Only leaves out, what it would be.
func (l *Limiter) Limit(v extractor.Value) float64 {
	hash := v.Hash(l.seed)
	s, _ := l.stripe(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, _ := l.plan.allowance(v, hash)
	return a.limit
}

// Shown returns what a value is shown as: its canonical text, or for a rule with Redact a keyed hash of it.
func (l *Limiter) Shown(v extractor.Value) string {
	hash := v.Hash(l.seed)
	s, _ := l.stripe(hash)
	s.mu.Lock()
	redact := l.plan.rule.Redact
	s.mu.Unlock()
	if redact {
		return l.redacted(hash)
	}
	return v.String()
}

// redacted returns what a hash is shown as: another one, since who sees the hash itself could find values that share cells.
func (l *Limiter) redacted(hash uint64) string {
	return extractor.Int(int64(hash)).Redacted(l.seed).String()
}
