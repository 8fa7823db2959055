package sim

import (
	"math/rand/v2"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/isolation"
)

// caller is a client while the scenario is played.
type caller struct {
	spec    *Client
	session Session
	guard   *guardian
	chance  *rand.Rand
	budget  budget
}

// load is a stream of calls while the scenario is played.
type load struct {
	spec   *Load
	caller int32
	rate   float64
	gen    uint32 // of the rate: arrivals that were planned with another do not come
	chance *rand.Rand
}

// call is a call on its way.
type call struct {
	caller int32
	tries  int8
	begun  time.Duration
	hash   uint64
	choice Choice
	entry  cordon.Entry
	tried  []int
}

func (w *world) addLoad(caller int, spec *Load) {
	i := len(w.loads)
	l := load{spec: spec, caller: int32(caller), rate: spec.Rate, chance: w.stream(forLoads, i)}
	w.loads = append(w.loads, l)
	if l.rate > 0 {
		first := w.loads[i].gap()
		if spec.Steady {
			first = time.Duration(l.chance.Float64() * float64(first))
		}
		w.line.add(first, arrives, int32(i), 0)
	}
	for _, c := range spec.Changes {
		w.line.add(c.At, adjusts, int32(i), 0)
	}
}

// gap returns the time until the next call.
func (l *load) gap() time.Duration {
	mean := float64(time.Second) / l.rate
	if !l.spec.Steady {
		mean *= l.chance.ExpFloat64()
	}
	return time.Duration(mean)
}

// adjust sets a load's rate anew.
func (w *world) adjust(d *due) {
	l := &w.loads[d.ref]
	for _, c := range l.spec.Changes {
		if c.At <= w.now {
			l.rate = c.Rate
		}
	}
	l.gen++
	if l.rate > 0 {
		w.line.add(w.now+l.gap(), arrives, d.ref, l.gen)
	}
}

// arrive is a call that begins.
func (w *world) arrive(d *due) {
	l := &w.loads[d.ref]
	if d.gen != l.gen {
		return
	}
	w.line.add(w.now+l.gap(), arrives, d.ref, l.gen)
	i := w.newCall(l)
	c := &w.callers[l.caller]
	w.book.called(l.caller)
	c.budget.call(w.now)
	if c.guard == nil {
		w.try(i)
		return
	}
	if s, ok := c.guard.enter(i, l.spec.Resource); ok {
		s.call = i
		w.admitted(s)
	}
}

func (w *world) newCall(l *load) int32 {
	var i int32
	if n := len(w.freeCalls); n > 0 {
		i = w.freeCalls[n-1]
		w.freeCalls = w.freeCalls[:n-1]
	} else {
		i = int32(len(w.calls))
		w.calls = append(w.calls, call{})
	}
	c := &w.calls[i]
	*c = call{caller: l.caller, begun: w.now, hash: l.chance.Uint64(), tried: c.tried[:0]}
	return i
}

// admitted goes on with a call that the client's guard has decided about.
func (w *world) admitted(s signal) {
	if s.err != nil {
		w.book.blocked(w.calls[s.call].caller)
		w.freeCalls = append(w.freeCalls, s.call)
		return
	}
	w.calls[s.call].entry = s.entry
	w.try(s.call)
}

// try looks for an instance and calls it.
func (w *world) try(i int32) {
	c := &w.calls[i]
	k := &w.callers[c.caller]
	choice, ok := k.session.Pick(w.now, Try{Hash: c.hash, Tried: c.tried})
	if !ok {
		w.book.noInstance(c.caller)
		w.finish(i, cordon.Failure)
		return
	}
	c.choice = choice
	c.tries++
	w.book.tried(c.caller, &choice, c.tries > 1)
	outcome, j := w.serve(int32(choice.ID), i)
	if j == none {
		w.tried(i, int32(choice.ID), outcome, 0, false)
		return
	}
	if t := k.spec.Timeout; t > 0 {
		w.line.add(w.now+t, timesOut, j, w.jobs[j].gen)
	}
}

// tried is a try that has ended.
func (w *world) tried(i, server int32, outcome isolation.Outcome, latency time.Duration, timeout bool) {
	c := &w.calls[i]
	k := &w.callers[c.caller]
	if outcome != isolation.Success {
		w.book.failedTry(c.caller, server, timeout)
	}
	k.session.Done(w.now, c.choice, outcome, latency)
	if outcome == isolation.Success {
		w.book.succeeded(c.caller, w.now-c.begun)
		w.finish(i, cordon.Success)
		return
	}
	c.tried = append(c.tried, int(server))
	w.failed(i)
}

// failed is a call whose last try did not succeed.
func (w *world) failed(i int32) {
	c := &w.calls[i]
	k := &w.callers[c.caller]
	r := &k.spec.Retry
	if int(c.tries) > r.Max || r.Budget > 0 && !k.budget.retry(w.now, r) {
		w.book.failed(c.caller)
		w.finish(i, cordon.Failure)
		return
	}
	if r.Wait == 0 {
		w.try(i)
		return
	}
	wait := float64(r.Wait) * float64(int(1)<<(c.tries-1)) * (.5 + k.chance.Float64())
	w.line.add(w.now+time.Duration(wait), retries, i, 0)
}

// finish ends a call.
func (w *world) finish(i int32, outcome cordon.Outcome) {
	c := &w.calls[i]
	entry, guard := c.entry, w.callers[c.caller].guard
	c.entry = cordon.Entry{}
	w.freeCalls = append(w.freeCalls, i)
	if guard != nil {
		guard.end(&entry, outcome, w.admitted)
	}
}

// budget counts calls and retries of the last ten seconds, by the second.
type budget struct {
	calls, retries [budgetSeconds]int
	second         int64
}

const budgetSeconds = 10

// roll forgets what is older.
func (b *budget) roll(now time.Duration) int {
	second := int64(now / time.Second)
	for n := 0; b.second < second && n < budgetSeconds; n++ {
		b.second++
		b.calls[b.second%budgetSeconds], b.retries[b.second%budgetSeconds] = 0, 0
	}
	b.second = second
	return int(second % budgetSeconds)
}

func (b *budget) call(now time.Duration) { b.calls[b.roll(now)]++ }

// retry reports whether the budget has one more retry, and takes it.
func (b *budget) retry(now time.Duration, r *Retry) bool {
	at := b.roll(now)
	calls, retries := 0, 0
	for i := range budgetSeconds {
		calls += b.calls[i]
		retries += b.retries[i]
	}
	if float64(retries)+1 > max(r.Budget*float64(calls), r.BudgetMin*budgetSeconds) {
		return false
	}
	b.retries[at]++
	return true
}
