package cordon

import (
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/rule"
)

const (
	// longestName is the length up to which a name that no rule spells out gets a resource of its own, in bytes:
	// the bound on resources is to be one on memory too.
	longestName = 1024
	// rememberedNames is for how many names beyond the bound the engine remembers what they are counted with, and
	// rememberedLength how long such a name may be.
	rememberedNames  = 4096
	rememberedLength = 256
	// mostCommons bounds the common resources for names beyond the bound: when there are as many, names that yet other rules match share one
	// that all those rules apply to, which is stricter than each rule alone.
	mostCommons = 1000
	// dropGrace is how long an idle resource must stay untouched after it was marked before it is dropped, so that any
	// call that had found its table before has long been counted.
	dropGrace = time.Second
	// lookStep is how many places are looked at for idle resources when a new resource is made, and lookFull when the
	// bound is reached.
	lookStep = 8
	lookFull = 256
	// lookAgain says which look-ups of names that are known to be beyond the bound see whether there is room now.
	lookAgain = 64
)

// registry finds resources by name. It is an open-addressing hash table that is read without a lock, and holds at most
// maxResources, but for those that rules name and handles hold.
type registry struct {
	eng   *Engine
	seed  maphash.Seed
	hot   hot
	slots atomic.Pointer[slots]
	// remembered is made when the bound is first reached; directly mapped by hash.
	remembered atomic.Pointer[[rememberedNames]atomic.Pointer[overflowName]]
	dropped    atomic.Int64

	// mu guards changes of the table and what follows. It may be held while a resource's lock is taken, never the other way round.
	mu      sync.Mutex
	live    int                  // resources in the slots
	used    int                  // places in the slots: live resources and tombs
	hand    int                  // next place to look at for idle resources
	commons map[string]*resource // by the rules they are for: see ruleIDs.key
	tidied  uint32               // the version of the rules under which the common ones of rules that are gone were last dropped
	tomb    *resource            // marks the place of a dropped resource
}

type slots struct {
	mask uint64
	at   []slot
}

// slot is one place of the table. It tells the hash itself, so that looking past a resource does not touch it. The hash is
// written before the resource is stored, once, and outlives it in the tomb.
type slot struct {
	res  atomic.Pointer[resource]
	hash uint64
}

// overflowName says which common resource a name beyond the bound is counted with.
type overflowName struct {
	name    string
	version uint32
	res     *resource
}

func (g *registry) init(e *Engine) {
	g.eng = e
	g.seed = maphash.MakeSeed()
	g.slots.Store(newSlots(64))
	g.commons = map[string]*resource{}
	g.tomb = &resource{}
}

func newSlots(n int) *slots {
	return &slots{mask: uint64(n - 1), at: make([]slot, n)}
}

// find returns the resource of that name, or nil. A tomb, which belongs to no engine, is no resource.
func (s *slots) find(name string, hash uint64) *resource {
	for i := hash & s.mask; ; i = (i + 1) & s.mask {
		at := &s.at[i]
		r := at.res.Load()
		if r == nil {
			return nil
		}
		if at.hash == hash && r.name == name && r.eng != nil {
			return r
		}
	}
}

// put stores a resource that is not in the slots, which must have room.
func (s *slots) put(r *resource) {
	i := r.hash & s.mask
	for s.at[i].res.Load() != nil {
		i = (i + 1) & s.mask
	}
	s.at[i].hash = r.hash
	s.at[i].res.Store(r)
}

// get returns the resource of that name, made if it is new, or the common one for names beyond the bound.
func (g *registry) get(name string) *resource {
	if r := g.hot.find(name); r != nil {
		return r
	}
	hash := maphash.String(g.seed, name)
	if r := g.slots.Load().find(name, hash); r != nil {
		g.hot.put(name, r)
		return r
	}
	return g.make(name, hash)
}

// lookup returns the resource of that name if there is one, which may be the title of a common one.
func (g *registry) lookup(name string) *resource {
	if r := g.slots.Load().find(name, maphash.String(g.seed, name)); r != nil || !strings.HasPrefix(name, "(others") {
		return r
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.commons {
		if r.name == name {
			return r
		}
	}
	return nil
}

func (g *registry) make(name string, hash uint64) *resource {
	set := g.eng.set.Load()
	recalled := g.recall(name, hash, set)
	if recalled != nil && g.eng.overflowed.Add(1)%lookAgain != 0 {
		return recalled
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.slots.Load().find(name, hash); r != nil {
		return r
	}
	now := g.eng.clock.Now()
	if !set.names(name) && (len(name) > longestName || !g.room(now)) {
		if recalled == nil {
			g.eng.overflowed.Add(1)
		}
		return g.common(name, hash, set)
	}
	g.look(now, lookStep)
	r := newResource(g.eng, strings.Clone(name), hash)
	r.idleSince = now
	g.insert(r)
	return r
}

// room reports whether one more resource may be made, after dropping an idle one if need be. Caller holds mu.
func (g *registry) room(now time.Duration) bool {
	most := g.eng.cfg.maxResources
	if g.live >= most {
		g.look(now, lookFull)
	}
	return g.live < most
}

// insert puts a new resource into the table. Caller holds mu.
func (g *registry) insert(r *resource) {
	s := g.slots.Load()
	if 4*(g.used+1) > 3*len(s.at) {
		n := len(s.at)
		if 2*(g.live+1) > n {
			n *= 2
		}
		s = newSlots(n)
		g.each(s.put)
		g.used = g.live
		g.slots.Store(s)
	}
	s.put(r)
	g.live++
	g.used++
}

// each calls f for every named resource at this moment.
func (g *registry) each(f func(*resource)) {
	s := g.slots.Load()
	for i := range s.at {
		if r := s.at[i].res.Load(); r != nil && r != g.tomb {
			f(r)
		}
	}
}

// all calls f for every resource, the common ones included.
func (g *registry) all(f func(*resource)) {
	g.each(f)
	g.mu.Lock()
	commons := make([]*resource, 0, len(g.commons))
	for _, r := range g.commons {
		commons = append(commons, r)
	}
	g.mu.Unlock()
	for _, r := range commons {
		f(r)
	}
}

// look inspects up to n places for resources that are idle: the first time one has been so for the idle timeout it is marked, and if it
// has stayed untouched for a while since, it is dropped. Caller holds mu.
func (g *registry) look(now time.Duration, n int) {
	s := g.slots.Load()
	for range min(n, len(s.at)) {
		if g.hand >= len(s.at) {
			g.hand = 0
		}
		at := &s.at[g.hand].res
		g.hand++
		if r := at.Load(); r != nil && r != g.tomb && g.due(r, now) {
			at.Store(g.tomb)
			g.live--
			g.dropped.Add(1)
		}
	}
}

// due reports whether r is to be dropped, after marking it as dropped. Most looks must cost little, since a scan of made-up names
// causes many: whether rules name r, and whether its state is in use, is asked of those that are due, and then not again for a while. Caller holds mu.
func (g *registry) due(r *resource, now time.Duration) bool {
	passed := r.passed.Load()
	if passed != r.idlePassed || r.pinned.Load() || r.inFlight() > 0 {
		r.idleMarked, r.idleSince, r.idlePassed = false, now, passed
		return false
	}
	if r.idleMarked {
		if now-r.idleSince < dropGrace {
			return false
		}
		if !g.eng.set.Load().names(r.name) && r.drop() {
			return true
		}
		r.idleMarked, r.idleSince = false, now // a call that was refused has woken it, or a rule names it now
		return false
	}
	if now-r.idleSince < g.eng.cfg.idleTimeout {
		return false
	}
	if !g.eng.set.Load().names(r.name) && r.rest(now) {
		r.idleMarked, r.idleSince = true, now
	} else {
		r.idleSince = now - g.eng.cfg.idleTimeout + dropGrace
	}
	return false
}

// recall returns the common resource that a name beyond the bound is known to be counted with under these rules.
func (g *registry) recall(name string, hash uint64, set *ruleset) *resource {
	table := g.remembered.Load()
	if table == nil {
		return nil
	}
	o := table[hash%rememberedNames].Load()
	if o == nil || o.version != set.version || o.name != name {
		return nil
	}
	return o.res
}

// common returns the resource that counts all names beyond the bound that the same rules match. Caller holds mu.
func (g *registry) common(name string, hash uint64, set *ruleset) *resource {
	ids := idsOf(set.match(name))
	key := ids.key()
	r := g.commons[key]
	if r == nil && len(g.commons) >= mostCommons && key != "" {
		if g.tidied != set.version {
			g.tidied = set.version
			for k, c := range g.commons { // those of rules that are gone, to which no name leads any more
				if !c.complete(set) {
					delete(g.commons, k)
				}
			}
		}
		if len(g.commons) >= mostCommons {
			key = "many"
			r = g.commons[key]
		}
	}
	if r == nil {
		r = newResource(g.eng, ids.title(key), 0)
		r.isCommon, r.rules = true, &ids
		g.commons[key] = r
	} else if key == "many" {
		r.include(ids)
	}
	if len(name) <= rememberedLength {
		table := g.remembered.Load()
		if table == nil {
			table = new([rememberedNames]atomic.Pointer[overflowName])
			g.remembered.Store(table)
		}
		table[hash%rememberedNames].Store(&overflowName{strings.Clone(name), set.version, r})
	}
	return r
}

// ruleIDs are the ids of rules by kind, as ruleset.match orders them.
type ruleIDs struct{ flow, concurrency, breaker, param, authority []string }

func idsOf(m matched) ruleIDs {
	return ruleIDs{idList(m.flow), idList(m.concurrency), idList(m.breaker), idList(m.param), idList(m.authority)}
}

func idList[R rule.Rule[R]](rules []ref[R]) []string {
	var ids []string
	for _, r := range rules {
		ids = append(ids, r.Meta().ID)
	}
	return ids
}

// key is a text that no other ids have; "" without any.
func (d ruleIDs) key() string {
	var b strings.Builder
	for kind, ids := range [][]string{d.flow, d.concurrency, d.breaker, d.param, d.authority} {
		for _, id := range ids {
			b.WriteByte('0' + byte(kind))
			b.WriteString(strconv.Quote(id))
		}
	}
	return b.String()
}

// title is the name of the common resource of that key.
func (d ruleIDs) title(key string) string {
	switch key {
	case "":
		return "(others)"
	case "many":
		return "(others of many rules)"
	}
	var all []string
	for _, id := range d.flow {
		all = append(all, "flow "+id)
	}
	for _, id := range d.concurrency {
		all = append(all, "concurrency "+id)
	}
	for _, id := range d.breaker {
		all = append(all, "breaker "+id)
	}
	for _, id := range d.param {
		all = append(all, "param "+id)
	}
	for _, id := range d.authority {
		all = append(all, "authority "+id)
	}
	return "(others of " + strings.Join(all, ", ") + ")"
}

// plus returns d with what it lacks of o, and whether it lacked anything.
func (d ruleIDs) plus(o ruleIDs) (ruleIDs, bool) {
	lacked := false
	add := func(all, more []string) []string {
		has := among(all)
		all = all[:len(all):len(all)]
		for _, id := range more {
			if !has(id) {
				all, lacked = append(all, id), true
			}
		}
		return all
	}
	sum := ruleIDs{add(d.flow, o.flow), add(d.concurrency, o.concurrency), add(d.breaker, o.breaker), add(d.param, o.param), add(d.authority, o.authority)}
	return sum, lacked
}

// pick returns the rules of those ids, in written order.
func (s *ruleset) pick(d ruleIDs) matched {
	if s.closed {
		return matched{}
	}
	return matched{pickFrom(s.flow, d.flow), pickFrom(s.concurrency, d.concurrency), pickFrom(s.breaker, d.breaker), pickFrom(s.param, d.param),
		pickFrom(s.authority, d.authority)}
}

func pickFrom[R rule.Rule[R]](from interface{ Rules() []ref[R] }, ids []string) []ref[R] {
	if len(ids) == 0 {
		return nil
	}
	var picked []ref[R]
	wanted := among(ids)
	for _, r := range from.Rules() {
		if wanted(r.Meta().ID) {
			picked = append(picked, r)
		}
	}
	return picked
}
