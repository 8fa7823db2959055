package cordon

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/stat"
)

const (
	// histogramAfter is how many calls a resource must have had before it gets a histogram: most resources of a large
	// application hardly have any.
	histogramAfter = 100
	// histogramSpan is how far back latencies are looked at, at least; at most it is twice that.
	histogramSpan = 10 * time.Second
)

// resource is one named thing that calls are made to, with its statistics and its compiled rules.
type resource struct {
	// What a call looks at is together in one cache line.
	table     atomic.Pointer[table]
	hash      uint64
	name      string
	eng       *Engine
	passed    atomic.Int64
	histogram stat.Histogram
	ended     [Ignored + 1]atomic.Int64 // by outcome; successes are still in that line

	gaveUp           atomic.Int64
	blockedByChecker atomic.Int64
	pinned           atomic.Bool // a handle holds it

	// mu serialises compiling the table and guards what follows.
	mu      sync.Mutex
	resting *table                // the table of a resource marked as idle
	gone    *[kinds]refusalCounts // of rules that apply no longer; nil for none
	rules   *ruleIDs              // of a common resource: the rules that apply; nil for others

	isCommon bool // it counts names beyond the bound; never changed
	dropped  bool // the registry has let the resource go, or never had it: see Engine.Resource

	// What follows is the registry's and guarded by its lock: to see that the resource is idle.
	idleMarked bool          // it was found idle at idleSince
	idleSince  time.Duration // since when the total has not moved
	idlePassed int64         // the total when last looked at

	system atomic.Pointer[[]*systemTally] // what system rules refused here; nil until one does

	_ [16]byte // makes the size one of whole cache lines, which the allocator then keeps to
}

// refusalCounts counts what rules refused, and in shadow would have.
type refusalCounts struct{ blocked, shadowed int64 }

func newResource(e *Engine, name string, hash uint64) *resource {
	r := &resource{eng: e, name: name, hash: hash}
	r.histogram.Init(histogramSpan)
	return r
}

// current returns the resource's table for the rules in force, or nil if the resource was dropped: then its name must be looked up again.
func (r *resource) current() *table {
	t := r.table.Load()
	if t != nil && t.version == r.eng.version.Load() {
		return t
	}
	return r.compile()
}

// compile makes the table for the rules in force, carrying over all state that is still meant.
func (r *resource) compile() *table {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped {
		return nil
	}
	set := r.eng.set.Load()
	old := r.table.Load()
	if old == nil {
		old, r.resting = r.resting, nil
	}
	if old == nil || old.version != set.version {
		old = newTable(r, set, r.matched(set), old)
	}
	r.table.Store(old)
	return old
}

// matched returns the rules that apply. Caller holds mu.
func (r *resource) matched(set *ruleset) matched {
	if r.isCommon {
		return set.pick(*r.rules)
	}
	return set.match(r.name)
}

// include makes more rules apply to a common resource.
func (r *resource) include(ids ruleIDs) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum, lacked := r.rules.plus(ids)
	if !lacked {
		return
	}
	r.rules = &sum
	set := r.eng.set.Load()
	r.table.Store(newTable(r, set, r.matched(set), r.table.Load()))
}

// complete reports whether all rules of a common resource are in force.
func (r *resource) complete(set *ruleset) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := set.pick(*r.rules)
	return len(m.flow) == len(r.rules.flow) && len(m.concurrency) == len(r.rules.concurrency) && len(m.breaker) == len(r.rules.breaker) &&
		len(m.param) == len(r.rules.param) && len(m.authority) == len(r.rules.authority)
}

// rest puts an idle resource to rest: the next call compiles its table anew, under the lock. It reports false if some
// state is in use. The caller holds the registry's lock.
func (r *resource) rest(now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.table.Load()
	if t == nil {
		t = r.resting // it rests already, but a call that had found its table before came late
	}
	if t != nil && !t.idle(now) {
		return false
	}
	r.resting = t
	r.table.Store(nil)
	return true
}

// drop lets a resting resource go, unless a call has woken it. The caller holds the registry's lock.
func (r *resource) drop() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.table.Load() != nil || r.pinned.Load() {
		return false
	}
	r.dropped = true
	return true
}

// pin keeps the resource from being dropped. It reports false if that is too late.
func (r *resource) pin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dropped {
		r.pinned.Store(true)
	}
	return !r.dropped
}

// inFlight returns how many admitted calls have not ended. Reading ends before starts keeps it from going negative.
func (r *resource) inFlight() int64 {
	ended := r.ended[Success].Load() + r.ended[Failure].Load() + r.ended[Ignored].Load()
	return r.passed.Load() - ended
}

// Resource is a handle of one resource: calls through it need no look-up by name. It stays valid for the engine's life
// and keeps the resource from being dropped. The zero Resource admits every call, uncounted.
type Resource struct{ r *resource }

// Resource returns the handle of a resource, which is made if it is new. Beyond the engine's bound of resources calls through the handle are
// counted with all names that the same rules match, as calls by name are, and look the name up as those do.
func (e *Engine) Resource(name string) Resource {
	for {
		r := e.resources.get(name)
		if r.isCommon {
			// What a name is counted with changes with the rules, so the handle holds a resource that the registry does not know, and
			// every call finds that out.
			return Resource{&resource{eng: e, name: strings.Clone(name), dropped: true}}
		}
		if r.pin() {
			return Resource{r}
		}
	}
}

// Name returns the resource's name.
func (h Resource) Name() string {
	if h.r == nil {
		return ""
	}
	return h.r.name
}

// Enter is Engine.Enter for a request with nothing set but the resource.
func (h Resource) Enter(ctx context.Context) (Entry, error) {
	return h.r.enter(ctx, 1, nil, 0)
}

// EnterWith is Engine.Enter; req.Resource is not looked at.
func (h Resource) EnterWith(ctx context.Context, req Request) (Entry, error) {
	if req.Cost < 0 {
		return Entry{}, ErrInvalidCost
	}
	req.Resource = h.Name()
	return h.r.enter(ctx, uint32(normalCost(req.Cost)), &req, 0)
}
