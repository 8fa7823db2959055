package breaker

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/stat"
)

// A recovery keeps the probes of one half-open phase. The breaker's mutex guards all of it but fullUntil.
type recovery struct {
	// fullUntil lets calls be refused without the mutex: before it, no probe can be admitted unless another ends first.
	fullUntil atomic.Int64
	// probes are in flight, at most settings.probes of them (unless an edit lowered that).
	probes []probe
	// counts are the probes that ended, good those that spoke for the callee.
	counts counts
	good   int
}

// A probe is a call admitted while half-open.
type probe struct {
	permit Permit
	// until is when its lease ends: from then on it may be replaced.
	until time.Duration
}

// never is a fullUntil that refuses nothing.
const never = math.MinInt64

func newRecovery(s *settings) *recovery {
	r := &recovery{probes: make([]probe, 0, s.probes)}
	r.fullUntil.Store(never)
	return r
}

// admit gives a lease to a probe, if there is room or some lease is over.
func (r *recovery) admit(now time.Duration, s *settings, permit Permit) bool {
	if len(r.probes) >= int(s.probes) {
		r.probes = slices.DeleteFunc(r.probes, func(p probe) bool { return now >= p.until })
	}
	admitted := len(r.probes) < int(s.probes)
	if admitted {
		r.probes = append(r.probes, probe{permit, now + s.lease})
	}
	r.settle(s)
	return admitted
}

// end takes back a probe's lease. It reports false for a probe that is not (or no longer) known.
func (r *recovery) end(s *settings, permit Permit) bool {
	i := slices.IndexFunc(r.probes, func(p probe) bool { return p.permit == permit })
	if i < 0 {
		return false
	}
	r.probes = slices.Delete(r.probes, i, i+1)
	r.settle(s)
	return true
}

// settle brings fullUntil up to date.
func (r *recovery) settle(s *settings) {
	full := int64(never)
	if len(r.probes) >= int(s.probes) {
		full = int64(slices.MinFunc(r.probes, func(a, b probe) int { return cmp.Compare(a.until, b.until) }).until)
	}
	r.fullUntil.Store(full)
}

// learn counts how a probe ended.
func (r *recovery) learn(s *settings, outcome stat.Outcome, latency time.Duration) {
	r.counts.add(s, outcome, latency)
	if !s.bad(outcome, latency) {
		r.good++
	}
}

// inFlight counts the probes whose lease is not over.
func (r *recovery) inFlight(now time.Duration) int {
	n := 0
	for _, p := range r.probes {
		if now < p.until {
			n++
		}
	}
	return n
}
