package system

import (
	"math"
	"time"
)

// tick looks at what was counted, if that is due and nobody else does, and reads the machine if that is.
func (g *Guard) tick(now time.Duration) {
	next := g.next.Load()
	if int64(now) < next || !g.next.CompareAndSwap(next, int64(now+tickEvery)) || !g.mu.TryLock() {
		return
	}
	g.look(now)
	s := g.set.Load()
	reads := (s.cpu || s.load) && now >= g.due && !g.busy
	if reads {
		g.busy, g.due = true, now+readEvery
	}
	g.mu.Unlock()
	if reads {
		g.read(now, s)
	}
}

// look takes a mark of what was counted, and decides. The caller holds mu.
func (g *Guard) look(now time.Duration) {
	// A call adds its response time before it counts as ended: read in the other order there is a response time for everything that has ended.
	ended := g.ended.Load() - g.unmeasured.Load()
	m := mark{at: now, ended: ended, spent: g.spent.Load()}
	if g.recent.len == 0 || now-g.recent.at(g.recent.len-1).at >= tickEvery {
		if before, ok := g.recent.add(m); ok {
			g.capacity.add(before, m)
		}
	}
	g.decide(now)
}

// read reads the machine, with no lock held: only the call that does waits for it.
func (g *Guard) read(now time.Duration, s *set) {
	var cpu, load gauge
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.busy, g.cpu, g.load = false, cpu, load
		g.decide(now)
	}()
	if s.cpu {
		share, ok := g.reader.CPU(now)
		cpu = gauge{share, ok && share >= 0, now} // NaN is unknown too
	}
	if s.load {
		average, ok := g.reader.Load()
		load = gauge{average, ok && average >= 0, now}
	}
}

// decide makes the verdict of what is known. The caller holds mu.
func (g *Guard) decide(now time.Duration) {
	g.at = max(g.at, now) // a reading may have been long in coming
	now = g.at
	s := g.set.Load()
	v := verdict{bound: g.probe.bound(&g.capacity, now)}
	g.bound.Store(v.bound)
	passed := false // the limit of a rule that admits what can be worked on
	for _, st := range s.states {
		value, known := g.measured(st.rule.Metric, now)
		over := known && value > st.rule.limit()
		st.observe(value, known, over)
		bounds := over && st.rule.reads() && st.rule.Admission == BBR
		passed = passed || bounds && !st.rule.Shadow
		switch {
		case !over || st.rule.Shadow:
		case bounds && v.bound > 0 && v.bounds == nil:
			v.bounds, v.measured = st, value
		case bounds || v.refuses != nil:
		case st.rule.Metric == ResponseTime:
			v.refuses, v.saw, v.until = st, value, g.recent.empty()
		default:
			v.refuses, v.saw, v.until = st, value, max(g.due, now)
		}
	}
	g.probe.active(passed, &g.capacity, now)
	if v.refuses == nil && v.bounds == nil {
		g.verdict.Store(nil)
	} else if old := g.verdict.Load(); old == nil || *old != v {
		g.verdict.Store(&v)
	}
}

// measured returns the metric of a rule that is decided at ticks; of the others nothing is known here. The caller holds mu.
func (g *Guard) measured(m Metric, now time.Duration) (value float64, known bool) {
	switch m {
	case CPU:
		return g.cpu.now(now)
	case Load:
		return g.load.now(now)
	case ResponseTime:
		mean, ok := g.recent.mean()
		return mean.Seconds(), ok
	}
	return 0, false
}

// observe notes what was decided of the rule, for calls and observers.
func (st *state) observe(value float64, known, passed bool) {
	if !known {
		value = math.NaN()
	}
	st.observed.Store(math.Float64bits(value))
	st.passed.Store(passed)
}

// beyond reports whether more is in flight than rules with BBR admit, a call of that cost included, and more than it alone.
func (g *Guard) beyond(cost int64) bool {
	bound, flying := g.bound.Load(), g.InFlight()
	return bound > 0 && flying > cost && flying > bound
}

const (
	// probeEvery is how often, while calls are refused by what can be worked on, the queue is let run empty for a moment, and for how long. Without that the least response time, once what was seen before the overload is forgotten,
	// is one with a queue, which would let a longer queue form, and so on.
	probeEvery = 10 * time.Second
	probeFor   = 300 * time.Millisecond
	// probeShare is how much of what can be worked on is admitted meanwhile.
	probeShare = 0.5
	// probeSoon is after what time the next one comes if one found a response time that is less by more than a tenth: there may still have been a queue.
	probeSoon = 500 * time.Millisecond
)

// probe says how much is admitted of what can be worked on.
type probe struct {
	on     bool // some limit is passed
	until  time.Duration
	next   time.Duration
	least  float64 // the least response time when the last one began
	judged bool
}

// bound returns up to how much in flight is admitted, 0 if that is not known.
func (p *probe) bound(c *capacity, now time.Duration) int64 {
	rate, least := c.estimate(now)
	if rate == 0 {
		return 0
	}
	share := headroom
	switch {
	case !p.on:
	case now < p.until:
		share = probeShare
	case !p.judged:
		p.judged = true
		if least < 0.9*p.least {
			p.next = now + probeSoon
		}
	case now >= p.next:
		p.until, p.next, p.least, p.judged = now+probeFor, now+probeEvery, least, false
		share = probeShare
	}
	return max(1, int64(min(math.Ceil(rate*least*share), none/2)))
}

// active notes whether the limit of some rule is passed. A process that was overloaded from its start has seen no response time without a queue: then the first probe comes soon.
func (p *probe) active(on bool, c *capacity, now time.Duration) {
	if on && !p.on {
		p.until, p.judged = now, true
		first := now + probeEvery
		if !c.knew(now - freshFor - readEvery) {
			first = now + probeSoon
		}
		if p.next <= now {
			p.next = first
		}
	}
	p.on = on
}
