package breaker

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/stat"
)

// The model is a breaker written down naively: every call is kept with its time, every end of a call judges the whole list, and
// permits are known by whom they were given to. play_test.go runs it beside a Breaker
// through random operations.
type model struct {
	rule     Rule // with defaults
	random   float64
	state    State
	phase    int
	until    time.Duration
	reopened int
	calls    []modelCall
	run      int64
	probes   []modelProbe
	seen     counts // half-open
	good     int
	events   []Transition
}

type modelCall struct {
	at           time.Duration
	failed, slow bool
}

type modelProbe struct {
	id    int
	until time.Duration
}

// holder is a call that was admitted, in the model's and in the breaker's terms.
type holder struct {
	permit  Permit
	phase   int
	probe   int // 0: not a probe
	nothing bool
}

func (m *model) bucket(at time.Duration) int64 {
	return int64(at / (m.rule.Window / time.Duration(m.rule.Buckets)))
}

func (m *model) inWindow(now time.Duration) []modelCall {
	var in []modelCall
	for _, c := range m.calls {
		if m.bucket(c.at) > m.bucket(now)-int64(m.rule.Buckets) {
			in = append(in, c)
		}
	}
	return in
}

func (m *model) counts(now time.Duration) counts {
	if m.state == HalfOpen {
		return m.seen
	}
	if m.state != Closed && m.state != ForcedClosed {
		return counts{}
	}
	if m.rule.Trip == Consecutive {
		return counts{calls: m.run, failures: m.run}
	}
	var n counts
	for _, c := range m.inWindow(now) {
		n.calls++
		if c.failed {
			n.failures++
		}
		if c.slow {
			n.slow++
		}
	}
	return n
}

func (m *model) change(now time.Duration, to State, n counts) {
	e := Transition{From: m.state, To: to, At: now, Calls: n.calls, Failures: n.failures, Slow: n.slow}
	if m.state == HalfOpen && to == Open {
		m.reopened++
	} else if to != HalfOpen {
		m.reopened = 0
	}
	if to == Open {
		d := m.rule.Open
		for range m.reopened {
			d = min(2*d, m.rule.MaxOpen)
		}
		d += time.Duration(float64(d) * float64(float32(m.rule.Jitter)) * (2*m.random - 1))
		m.until, e.OpenFor = now+d, d
	}
	e.Reopened = m.reopened
	m.state, m.phase = to, m.phase+1
	m.calls, m.run, m.probes, m.seen, m.good = nil, 0, nil, counts{}, 0
	m.events = append(m.events, e)
}

// acquire returns the phase that admits the call, and whether it is a probe; ok is false if it is refused.
func (m *model) acquire(now time.Duration, id int) (h holder, ok bool) {
	switch m.state {
	case Disabled:
		return holder{nothing: true}, true
	case Closed, ForcedClosed:
		return holder{phase: m.phase}, true
	case ForcedOpen:
		return holder{}, false
	case Open:
		if now < m.until {
			return holder{}, false
		}
		m.change(now, HalfOpen, counts{})
	}
	if len(m.probes) >= m.rule.Probes {
		m.probes = slices.DeleteFunc(m.probes, func(p modelProbe) bool { return p.until <= now })
	}
	if len(m.probes) >= m.rule.Probes {
		return holder{}, false
	}
	m.probes = append(m.probes, modelProbe{id, now + m.rule.ProbeLease})
	return holder{phase: m.phase, probe: id}, true
}

func (m *model) done(now time.Duration, h holder, outcome stat.Outcome, latency time.Duration) {
	if h.nothing || h.phase != m.phase {
		return
	}
	isFailed := outcome == stat.Failure
	isSlow := m.rule.Trip == SlowRatio && latency > m.rule.SlowerThan
	isBad := isFailed
	if m.rule.Trip == SlowRatio {
		isBad = isSlow
	}
	if h.probe != 0 {
		i := slices.IndexFunc(m.probes, func(p modelProbe) bool { return p.id == h.probe })
		if i < 0 {
			return
		}
		m.probes = slices.Delete(m.probes, i, i+1)
	}
	if outcome == stat.Ignored {
		return
	}
	if h.probe != 0 {
		m.seen.calls++
		if isFailed {
			m.seen.failures++
		}
		if isSlow {
			m.seen.slow++
		}
		if isBad {
			m.change(now, Open, m.seen)
			return
		}
		if m.good++; m.good >= m.rule.Successes {
			m.change(now, Closed, m.seen)
		}
		return
	}
	m.calls = append(m.calls, modelCall{now, isFailed, isSlow})
	m.run++
	if !isFailed {
		m.run = 0
	}
	if m.state == Closed && m.trips(m.counts(now)) {
		m.change(now, Open, m.counts(now))
	}
}

// trips compares in whole numbers: the models' thresholds are whole percents.
func (m *model) trips(n counts) bool {
	bad := n.failures
	if m.rule.Trip == SlowRatio {
		bad = n.slow
	}
	if bad == 0 || n.calls < int64(m.rule.MinCalls) {
		return false
	}
	share, threshold := bad, int64(m.rule.Threshold)
	if m.rule.Trip == ErrorRatio || m.rule.Trip == SlowRatio {
		share, threshold = 100*bad, n.calls*int64(m.rule.Threshold*100+0.5)
	}
	if m.rule.Above && !(m.rule.Trip == SlowRatio && m.rule.Threshold == 1) {
		return share > threshold
	}
	return share >= threshold
}

func (m *model) update(now time.Duration, r Rule) (kept bool) {
	old, r := m.rule, r.withDefaults()
	in := []modelCall(nil)
	if old.Trip != Consecutive {
		in = m.inWindow(now)
	}
	m.rule = r
	if m.state != Closed && m.state != ForcedClosed {
		return true
	}
	if old.Trip == Consecutive && r.Trip == Consecutive {
		return true
	}
	if old.Trip == Consecutive || r.Trip == Consecutive || r.Trip == SlowRatio && old.Trip != SlowRatio {
		m.calls, m.run = nil, 0
		return false
	}
	m.calls, m.run = in, 0
	if old.Window == r.Window && old.Buckets == r.Buckets && old.Trip == r.Trip {
		return true
	}
	part := old.Window / time.Duration(old.Buckets)
	for i := range m.calls {
		m.calls[i].at = m.calls[i].at / part * part
		m.calls[i].slow = m.calls[i].slow && r.Trip == SlowRatio
	}
	return true
}

func (m *model) force(now time.Duration, s State) {
	if m.state != s {
		m.change(now, s, m.counts(now))
	}
}

// A pair runs a breaker and its model side by side.
type pair struct {
	t       require.TestingT
	b       *Breaker
	m       *model
	now     time.Duration
	holders []holder
	ids     int
	events  []Transition
}

func newPair(t require.TestingT, r Rule, now time.Duration, random float64, stamp Permit) *pair {
	p := &pair{t: t, now: now, m: &model{rule: r.withDefaults(), random: random}}
	b, err := New(r, now, func(e Transition) { p.events = append(p.events, e) })
	require.NoError(t, err)
	b.random = func() float64 { return random }
	if stamp != 0 { // as if the breaker had run for long
		b.stamp = stamp
		ph := *b.phase.Load()
		ph.permit = stamp
		b.phase.Store(&ph)
	}
	p.b = b
	return p
}

func (p *pair) acquire() bool {
	p.ids++
	want, wantOK := p.m.acquire(p.now, p.ids)
	permit, retry, ok := p.b.Acquire(p.now)
	require.Equal(p.t, wantOK, ok, "admitted in state %v", p.m.state)
	if !ok {
		require.Zero(p.t, permit)
		require.Positive(p.t, retry)
		if p.m.state == Open {
			require.Equal(p.t, p.m.until-p.now, retry)
		}
		return false
	}
	require.Zero(p.t, retry)
	require.Equal(p.t, want.nothing, permit == 0)
	want.permit = permit
	p.holders = append(p.holders, want)
	return true
}

func (p *pair) done(i int, outcome stat.Outcome, latency time.Duration, again bool) {
	h := p.holders[i]
	p.m.done(p.now, h, outcome, latency)
	p.b.Done(p.now, h.permit, outcome, latency)
	if again && h.probe != 0 { // a probe that reports twice
		p.b.Done(p.now, h.permit, outcome, latency)
		p.b.Cancel(p.now, h.permit)
	}
	p.holders = slices.Delete(p.holders, i, i+1)
}

func (p *pair) cancel(i int) {
	p.m.done(p.now, p.holders[i], stat.Ignored, 0)
	p.b.Cancel(p.now, p.holders[i].permit)
	p.holders = slices.Delete(p.holders, i, i+1)
}

func (p *pair) update(r Rule) {
	kept, err := p.b.Update(r, p.now)
	require.NoError(p.t, err)
	require.Equal(p.t, p.m.update(p.now, r), kept)
}

func (p *pair) force(s State) {
	require.NoError(p.t, p.b.Force(s, p.now))
	p.m.force(p.now, s)
}

// check compares everything that can be seen.
func (p *pair) check() {
	m, st := p.m, p.b.Status(p.now)
	n := m.counts(p.now)
	want := Status{State: m.state, Calls: n.calls, Failures: n.failures, Slow: n.slow, Reopened: m.reopened}
	if m.state == Open {
		want.RetryIn = max(0, m.until-p.now)
	}
	for _, probe := range m.probes {
		if p.now < probe.until {
			want.ProbesInFlight++
		}
	}
	require.LessOrEqual(p.t, len(m.probes), maxProbes)
	require.Equal(p.t, m.state, p.b.State())
	require.Equal(p.t, m.state == Closed && n == counts{}, p.b.Idle(p.now))
	require.Len(p.t, p.events, len(m.events))
	for i, e := range p.events {
		require.NotEmpty(p.t, e.Reason)
		e.Reason = ""
		require.Equal(p.t, m.events[i], e)
	}
	if len(p.events) > 0 {
		want.Last = p.events[len(p.events)-1]
	}
	require.Equal(p.t, want, st)
}
