package cordon

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// longestName is the length up to which a name that no rule spells out gets a resource of its own, in bytes:
	// the bound on resources is to be one on memory too.
	longestName = 1024
	// rememberedNames is for how many names beyond the bound the engine remembers what they are counted with, and
	// rememberedLength how long such a name may be.
	rememberedNames  = 4096
	rememberedLength = 256
	// mostCommons bounds the common resources for names beyond the bound.
	mostCommons = 1000
	// dropGrace is how long an idle resource must stay untouched after it was marked before it is dropped, so that any
	// call that had found its table before has long been counted.
	dropGrace = time.Second
	// lookStep is how many places are looked at for idle resources when a new resource is made, and lookFull when the
	// bound is reached.
	lookStep = 8
	lookFull = 256
)

// registry finds resources by name. It is an open-addressing hash table that is read without a lock, and holds at most
// maxResources, but for those that rules name and handles hold.
type registry struct {
	eng   *Engine
	seed  maphash.Seed
	slots atomic.Pointer[slots]
	// remembered is made when the bound is first reached; directly mapped by hash.
	remembered atomic.Pointer[[rememberedNames]atomic.Pointer[overflowName]]
	dropped    atomic.Int64

	// mu guards changes of the table and what follows. It may be held while a resource's lock is taken, never the other way round.
	mu      sync.Mutex
	live    int // resources in the slots
	used    int // places in the slots: live resources and tombs
	hand    int // next place to look at for idle resources
	commons map[string]*resource
	tomb    *resource // marks the place of a dropped resource
}

type slots struct {
	mask uint64
	at   []atomic.Pointer[resource]
}

// overflowName says which common resource a name beyond the bound is counted with.
type overflowName struct {
	name    string
	version uint64
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
	return &slots{mask: uint64(n - 1), at: make([]atomic.Pointer[resource], n)}
}

// find returns the resource of that name, or nil. A tomb matches no name that exists: its hash is that of no name but
// by a chance of 2^-64, and then its name is not empty.
func (s *slots) find(name string, hash uint64) *resource {
	for i := hash & s.mask; ; i = (i + 1) & s.mask {
		r := s.at[i].Load()
		if r == nil {
			return nil
		}
		if r.hash == hash && r.name == name && r.eng != nil {
			return r
		}
	}
}

// put stores a resource that is not in the slots, which must have room.
func (s *slots) put(r *resource) {
	i := r.hash & s.mask
	for s.at[i].Load() != nil {
		i = (i + 1) & s.mask
	}
	s.at[i].Store(r)
}

// get returns the resource of that name, made if it is new, or the common one for names beyond the bound.
func (g *registry) get(name string) *resource {
	hash := maphash.String(g.seed, name)
	if r := g.slots.Load().find(name, hash); r != nil {
		return r
	}
	return g.make(name, hash)
}

// lookup returns the resource of that name if there is one.
func (g *registry) lookup(name string) *resource {
	return g.slots.Load().find(name, maphash.String(g.seed, name))
}

func (g *registry) make(name string, hash uint64) *resource {
	set := g.eng.set.Load()
	if r := g.recall(name, hash, set); r != nil {
		g.eng.overflowed.Add(1)
		return r
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.slots.Load().find(name, hash); r != nil {
		return r
	}
	now := g.eng.clock.Now()
	if !set.names(name) && (len(name) > longestName || !g.room(now)) {
		g.eng.overflowed.Add(1)
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
		if r := s.at[i].Load(); r != nil && r != g.tomb {
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
		at := &s.at[g.hand]
		g.hand++
		if r := at.Load(); r != nil && r != g.tomb && g.due(r, now) {
			at.Store(g.tomb)
			g.live--
			g.dropped.Add(1)
		}
	}
}

// due reports whether r is to be dropped, after marking it as dropped. Caller holds mu.
func (g *registry) due(r *resource, now time.Duration) bool {
	passed := r.passed.Load()
	if passed != r.idlePassed || r.pinned.Load() || r.inFlight() > 0 || g.eng.set.Load().names(r.name) {
		r.idleMarked, r.idleSince, r.idlePassed = false, now, passed
		return false
	}
	if !r.idleMarked {
		if now-r.idleSince >= g.eng.cfg.idleTimeout && r.rest(now) {
			r.idleMarked, r.idleSince = true, now
		}
		return false
	}
	return now-r.idleSince >= dropGrace && r.drop()
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
	const others = "(others)"
	key := others
	if ids := set.matched(name); len(ids) > 0 {
		key = "(others of " + strings.Join(ids, ", ") + ")"
	}
	r := g.commons[key]
	if r == nil {
		if len(g.commons) >= mostCommons {
			for k, c := range g.commons { // those of rules that are gone
				if c.representedUnder() != set.version && !c.pinned.Load() {
					delete(g.commons, k)
				}
			}
		}
		if len(g.commons) >= mostCommons {
			key = others
			r = g.commons[key]
		}
	}
	if r == nil {
		r = newResource(g.eng, key, 0)
		g.commons[key] = r
	}
	r.represent(name, set)
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
