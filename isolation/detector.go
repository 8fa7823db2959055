package isolation

import (
	"math"
	"time"
)

// A mark is the counts of an instance and of its peers (with it) at one moment.
type mark struct {
	own, all counts
	at       time.Duration
}

// since returns the instance's results and its peers' since the mark.
func (k *mark) since(own, all counts) (n, f, N, F int64) {
	n, f = own.since(k.own)
	N, F = all.since(k.all)
	N, F = others(n, f, N, F)
	return n, f, N, F
}

// others returns what is left of the results of all without the instance's own.
func others(n, f, N, F int64) (calls, fails int64) {
	calls = max(N-n, 0)
	return calls, min(max(F-f, 0), calls)
}

// A stage is the counts of an instance and of its peers (with it) at one moment, in short.
type stage struct{ own, all short }

// until returns the peers' results up to a later stage.
func (s stage) until(later stage) (N, F int64) {
	n, f := later.own.since(s.own)
	N, F = later.all.since(s.all)
	return others(n, f, N, F)
}

// before reports whether the stage is the earlier one.
func (s stage) before(o stage) bool { return int32(s.all.calls-o.all.calls) < 0 }

// A point is a stage and when it was.
type point struct {
	stage
	at time.Duration
}

// since returns the instance's results and its peers' since then, as long as they are less than 2^31.
func (k *point) since(own, all counts) (n, f, N, F int64) {
	n, f = own.short().since(k.own)
	N, F = all.short().since(k.all)
	N, F = others(n, f, N, F)
	return n, f, N, F
}

// A test looks at the results since the moment at which the instance began to do worse than its peers.
type test struct {
	point // at which it began; it looks back over far less than 2^31 results
	open  bool
	// withAll is true if the detector compares with all of the group and not with the region; only the slow test's counts.
	withAll bool
	// first and last are the stages at which the calls of its failures began, the earliest and the latest.
	first, last stage
	// underWay is how many calls to peers were under way when it began: their results may tell of what happened before.
	underWay int32
}

const (
	slow  = iota // finds any difference that counts
	gross        // finds large ones sooner, if the slow one began before the illness did
)

// detector is what an instance's failures are judged by. Member.mu guards it.
type detector struct {
	tests [2]test
	// older and newer are marks at least Rule.LevelTime and Rule.LevelCalls apart: the peers' level is what they did since older.
	older, newer point
	// reviewAt is when a sick instance that stays in service is judged again.
	reviewAt time.Duration
}

// clear makes the detector forget what it holds against the instance. The level stays.
func (d *detector) clear() {
	d.tests = [2]test{}
	d.reviewAt = math.MinInt64
}

// start makes the detector start with these counts, as those of an instance that is new among its peers.
func (d *detector) start(now time.Duration, own, all counts) {
	d.clear()
	d.older = point{stage{own.short(), all.short()}, now}
	d.newer = d.older
}

// judge looks at a failure at time now, which own and all already include, and says if the instance is sick. A success needs no look: the
// evidence can only grow with a failure, and whether a test must begin anew matters only then.
//
// began is the stage at which the failed call began. withAll says whose counts all are: should it differ from the last time, the detector begins anew.
func (d *detector) judge(now time.Duration, p *params, own, all counts, began stage, withAll bool, flight int64, size float64) (Evidence, bool) {
	r := &p.rule
	before := point{stage{own.less().short(), all.less().short()}, now}
	if d.tests[slow].withAll != withAll {
		review := d.reviewAt
		d.start(now, own.less(), all.less())
		d.tests[slow].withAll, d.reviewAt = withAll, review
	}
	// More than 2^31 results since then seem less than none.
	if group := int64(int32(uint32(all.calls) - d.newer.all.calls)); now-d.newer.at >= r.LevelTime && (group >= int64(r.LevelCalls) || group < 0) {
		d.older, d.newer = d.newer, before
	}
	if now < d.reviewAt {
		return Evidence{}, false
	}
	for i := range d.tests {
		if i == gross && r.GrossRate >= 1 {
			continue
		}
		t := &d.tests[i]
		n, f, N, F := t.since(own, all)
		q := rate(F, N)
		tolerated := p.tolerated(q)
		least := tolerated
		if i == gross {
			least = max(least, r.GrossRate)
		}
		switch {
		case !t.open, float64(f-1) <= float64(n-1)*least, n > int64(r.MaxWindowCalls), now-t.at > r.MaxWindowAge:
			// f - least×n falls only between failures, so one look at each failure is all that the change point takes.
			*t = test{point: before, open: true, withAll: t.withAll, first: began, last: began, underWay: int32(min(flight, math.MaxInt32))}
			continue
		}
		if began.before(t.first) {
			t.first = began
		}
		if t.last.before(began) {
			t.last = began
		}
		switch {
		case f < int64(r.MinFailures), float64(N) < r.FlightFactor*float64(t.underWay), float64(f) <= float64(n)*tolerated:
			continue
		}
		// Of the peers' calls that were under way then all may have been good ones of before.
		N -= min(int64(t.underWay), N-F)
		bound := d.bound(now, p, all, size)
		if float64(n)*divergence(rate(f, n), tolerated) < bound {
			continue // an upper bound of the ratio, for little work
		}
		if _, _, levelCalls, levelFails := d.older.since(own, all); N < levelCalls && p.ratio(n, f, levelCalls, levelFails) < bound {
			continue // the peers had a quiet moment by luck
		}
		// An instance that is slower than its peers tells of a moment that was bad for all when they have told of it already. So it must also do
		// worse than they did while its failed calls began.
		if thenCalls, thenFails := t.first.until(t.last); p.ratio(n, f, thenCalls, thenFails) < bound {
			continue
		}
		if nats := p.ratio(n, f, N, F); nats >= bound {
			return Evidence{
				Criterion: [...]string{"peers", "gross"}[i], Calls: n, Failures: f, PeerCalls: N, PeerFailures: F, Since: t.at, Nats: nats, Bound: bound,
			}, true
		}
	}
	return Evidence{}, false
}

// bound is how strong the evidence must be: more among many instances and at many calls, which give more chances for a false alarm.
func (d *detector) bound(now time.Duration, p *params, all counts, size float64) float64 {
	calls, _ := all.short().since(d.older.all)
	bound := p.rule.Evidence + p.logInstances
	if span := (now - d.older.at).Seconds(); span > 0 && size > 0 {
		bound += max(0, math.Log(float64(calls)/span/size/p.rule.RateRef))
	}
	return bound
}

// current returns the evidence that stands against the instance now, without a new failure; Criterion is "" if none does.
func (d *detector) current(now time.Duration, p *params, own, all counts, withAll bool, size float64) (worst Evidence) {
	if d.tests[slow].withAll != withAll {
		return Evidence{}
	}
	for i := range d.tests {
		t := &d.tests[i]
		if !t.open || p.rule.AbsoluteOnly {
			continue
		}
		n, f, N, F := t.since(own, all)
		if float64(f) <= float64(n)*p.tolerated(rate(F, N)) {
			continue
		}
		if nats := p.ratio(n, f, N, F); worst.Criterion == "" || nats > worst.Nats {
			worst = Evidence{
				Criterion: [...]string{"peers", "gross"}[i], Calls: n, Failures: f, PeerCalls: N, PeerFailures: F,
				Since: t.at, Nats: nats, Bound: d.bound(now, p, all, size),
			}
		}
	}
	return worst
}
