package isolation

import (
	"time"

	"github.com/cordon-go/cordon/stat"
)

// criteria is what the criteria besides the comparison with the peers go by: there for a rule that has one.
type criteria struct {
	// window counts the results for Rule.MinSuccessRate; nil without that.
	window *stat.Window
	// Member.mu guards what follows.
	localRun
	alone solo
}

// localRun is a run of local errors, for Rule.LocalErrors.
type localRun struct {
	// neutral counts the instance's results that do not end a run. It is raised together with the instance's calls, so that what is between the two is exactly the
	// results that do, however many calls end at one time.
	neutral uint64
	// length is how many local errors the run has; others is how many results of other kinds there had been when it began.
	length int
	others uint64
	// from is when it began.
	from mark
}

const (
	windowCalls = iota
	windowFails
	windowBuckets  = 10
	windowCounters = 2
)

// setCriteria gives the member what the rule asks for. A window is kept if the rule has not changed in that.
func (m *Member) setCriteria(p *params, newWindow bool) {
	r := &p.rule
	if p.off || r.MinSuccessRate == 0 && r.LocalErrors == 0 && !r.MayEmpty {
		m.criteria.Store(nil)
		return
	}
	old, next := m.criteria.Load(), new(criteria)
	switch {
	case r.MinSuccessRate == 0:
	case old != nil && old.window != nil && !newWindow:
		next.window = old.window
	default:
		next.window = stat.NewWindow(r.Window/windowBuckets, windowBuckets, windowCounters)
	}
	m.criteria.Store(next)
}

// countIn counts a result in the window, if there is one.
func (c *criteria) countIn(now time.Duration, o Outcome) {
	w := c.window
	if w == nil {
		return
	}
	bucket := w.Bucket(now)
	w.AddAt(bucket, windowCalls, 1)
	if o != Success {
		w.AddAt(bucket, windowFails, 1)
	}
}

// endNeutral ends a call whose result does not end a run of local errors.
func (m *Member) endNeutral(c *criteria) {
	m.mu.Lock()
	m.end()
	c.neutral++
	m.mu.Unlock()
}

// absolute says if too few of the window's calls succeeded.
func (c *criteria) absolute(now time.Duration, p *params) (Evidence, bool) {
	if c == nil || c.window == nil {
		return Evidence{}, false
	}
	var sums [windowCounters]int64
	c.window.Sums(now, sums[:])
	calls, fails := sums[windowCalls], sums[windowFails]
	good := 1 - rate(fails, calls)
	if calls < int64(p.rule.MinCalls) || good >= p.rule.MinSuccessRate-1e-9 {
		return Evidence{}, false
	}
	return Evidence{
		Criterion: "absolute", Calls: calls, Failures: fails, Since: max(now-p.rule.Window, 0), Nats: good, Bound: p.rule.MinSuccessRate,
	}, true
}

// unbroken reports whether the run goes on: whether no result of another kind came since it began.
func (l *localRun) unbroken(own counts) bool {
	return l.length > 0 && (own.calls-l.neutral-l.others)&callsMask == 0
}

// local looks at a local error and says if the run is long enough. The caller must hold Member.mu, and have read own with it held.
func (c *criteria) local(now time.Duration, p *params, own, all counts) (Evidence, bool) {
	if c == nil || p.rule.LocalErrors == 0 {
		return Evidence{}, false
	}
	if c.unbroken(own) {
		c.length++
	} else {
		c.length, c.others, c.from = 1, own.calls-c.neutral, mark{own.less(), all.less(), now}
	}
	if c.length < p.rule.LocalErrors {
		return Evidence{}, false
	}
	n, f, N, F := c.from.since(own, all)
	if N < int64(p.rule.LocalErrors) || rate(F, N) >= p.rule.PeersFailing {
		return Evidence{}, false
	}
	return Evidence{
		Criterion: "local errors", Calls: n, Failures: f, PeerCalls: N, PeerFailures: F, Since: c.from.at,
		Nats: float64(c.length), Bound: float64(p.rule.LocalErrors),
	}, true
}
