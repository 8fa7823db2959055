package flow

import (
	"sync"
	"sync/atomic"
	"time"
)

// A window admits at most its limit of calls in any half-open interval of length per, by the readings that callers
// give, exactly and in fixed memory.
//
// Its capacity is a fixed number of tokens, counted in units of calls. They lie in the shares of up to maxGroups groups
// (word.go) and, where no group holds them, in the pool. An admission takes tokens of the group in use, the one that
// head names; they stay taken for the group's life, which ends when its latest admission is at least per old. Groups
// are used in turn: when the one in use is full the next is opened, provided that its life has ended. Opening is one
// compare-and-swap of the whole word, so it checks the very stamp that was judged: no admission can slip in between.
//
// Why the bound holds whatever callers race each other: tokens are moved, never made. Before the tokens of an ended life
// become free, low is raised to the end of that life plus per. Whoever takes a token reads low after having seen the
// token, and is refused if its reading is below. So one token serves two admissions only at readings at least per apart,
// also when a caller stalled for long between reading the clock and coming here.
type window struct {
	// What a call looks at comes first: with the few bytes of the state before it that is 96 bytes, which never lie in more
	// than two cache lines.
	head      atomic.Uint64 // lap<<8 | group in use
	low       atomic.Int64  // the earliest reading that is admitted
	era       atomic.Int64  // where the stamps' era begins, see windowupkeep.go
	pool      atomic.Int64  // units that no group holds; below 0: units that groups owe, see setLimit
	words     []atomic.Uint64
	eraLength uint64 // for how many ns after its start an era admits readings
	per       time.Duration
	layout

	most int64        // the largest cost that can ever be admitted; it matters above 1 only
	cur  atomic.Int64 // the limit in force, in calls
	max  int64        // the largest limit, in calls

	mu sync.Mutex // serialises whoever changes the era or the limit, or seals the words
}

const (
	maxGroups = 224 // keep a window within 2 KB
	fewGroups = 80  // keep one of up to fewCalls within 1 KB: such limits are many
	fewCalls  = 112
	firstLap  = 1
	// maxHeld is up to how many admissions a lower limit takes over, so that a higher one after it still knows of them.
	maxHeld = 1 << 24
)

// verdict is what a window says to a call.
type verdict uint8

const (
	refused verdict = iota
	admitted
	moved // the window is sealed: another one has its tokens
	// The rest do not leave the window.
	again   // something changed meanwhile: read everything again
	skipped // the next group was opened, but no tokens were there for it
)

func groupsFor(limit int64) int {
	if limit <= fewCalls {
		return int(min(limit, fewGroups))
	}
	return int(min(limit, maxGroups))
}

// init makes w a window of limit calls per interval, of which cur are in force at first, that has admitted the history
// (see fill). Readings below low are refused.
func (w *window) init(limit, cur int64, per, now, low time.Duration, history []members) {
	w.per, w.max = per, limit
	w.cur.Store(cur)
	if limit == 0 {
		return
	}
	span := per
	if n := len(history); n > 0 {
		span = max(span, history[n-1].at-now) // promised turns may lie ahead
	}
	history = newest(history, max(limit, maxHeld))
	held := calls(history)
	w.words = make([]atomic.Uint64, groupsFor(max(limit, held)))
	w.layout = newLayout(limit, (held+int64(len(w.words))-1)/int64(len(w.words)), span)
	w.most = min(limit, w.maxShare()*w.unit)
	w.low.Store(int64(low))
	w.eraLength = uint64(3 * w.eighth())
	w.era.Store(int64(now) - w.eighth())
	w.pool.Store(cur/w.unit - w.fill(history, held))
	if w.pool.Load() < 0 {
		w.stripHead()
	}
}

// members are count admissions that are treated as made at one time.
type members struct {
	at    time.Duration
	count int64
}

// calls returns how many admissions a history has.
func calls(history []members) (sum int64) {
	for _, m := range history {
		sum += m.count
	}
	return sum
}

// newest returns the newest n admissions.
func newest(history []members, n int64) []members {
	first := len(history)
	for ; first > 0 && n > 0; first-- {
		history[first-1].count = min(history[first-1].count, n)
		n -= history[first-1].count
	}
	return history[first:]
}

// fill writes the history of held calls, oldest first, into the groups in turn, and returns how many units that took:
// more than the limit if more was admitted under another one. A group that holds admissions of several times counts
// them until the latest leaves the interval.
func (w *window) fill(history []members, held int64) (units int64) {
	for i := range w.words {
		w.words[i].Store(w.word(firstLap, 0, 0, 0))
	}
	w.head.Store(firstLap<<8 | uint64(len(w.words)-1))
	groups := int64(len(w.words))
	for i := 0; len(history) > 0; i++ {
		share := max(w.fair(i), (w.units(held)+groups-1)/groups)
		var used int64
		var latest time.Duration
		for len(history) > 0 && used < share*w.unit {
			n := min(history[0].count, share*w.unit-used)
			used, latest = used+n, history[0].at
			if history[0].count -= n; history[0].count == 0 {
				history = history[1:]
			}
		}
		w.words[i].Store(w.word(firstLap+1, used, share, latest))
		w.head.Store((firstLap+1)<<8 | uint64(i))
		units += share
	}
	return units
}

// fair returns the fair share of a group.
func (w *window) fair(group int) int64 {
	units, groups := w.max/w.unit, int64(len(w.words))
	share := units / groups
	if int64(group) < units%groups {
		share++
	}
	return share
}

// acquire admits n calls at once at time now, or refuses them. ref names the admission for cancel; retryAfter is after
// what time a refused call could pass if nothing else came, -1 for never.
func (w *window) acquire(now time.Duration, n int64) (v verdict, ref uint64, retryAfter time.Duration) {
	if len(w.words) == 0 || n > 1 && n > w.most {
		return refused, 0, -1
	}
	for empty := 0; empty <= len(w.words); {
		h := w.head.Load()
		group := &w.words[h&0xff]
		x := group.Load()
		if usable := x>>lapShift == h>>8&lapMask; !usable {
			if x >= sealed {
				return moved, 0, 0
			}
			if w.head.Load() != h {
				continue // it went on
			}
		} else if free := w.free(x); free >= n || n > 1 && free > 0 {
			if !w.admits(now) {
				if early := w.early(now); early > 0 {
					return refused, 0, early
				}
				continue
			}
			if age := w.age(x, now); age < w.per {
				if free >= n {
					if group.CompareAndSwap(x, w.join(x, n, now, age)) {
						return admitted, h, 0
					}
					continue
				}
				if w.strip(group, x) {
					continue // what is too little for n is in the pool now
				}
			}
		}
		switch v, ref, retryAfter = w.acquireNext(h, x, n, now); v {
		case again:
		case skipped:
			empty++
		default:
			return v, ref, retryAfter
		}
	}
	return refused, 0, w.wait(now, n) // other callers are moving all the tokens there are
}

// acquireNext is acquire where the group in use, that of the head h, whose word is x, has no room for n.
func (w *window) acquireNext(h, x uint64, n int64, now time.Duration) (v verdict, ref uint64, retryAfter time.Duration) {
	h2 := w.after(h)
	next := &w.words[h2&0xff]
	y := next.Load()
	switch {
	case y >= sealed:
		return moved, 0, 0
	case y>>lapShift == h2>>8&lapMask:
		w.head.CompareAndSwap(h, h2) // opened by another caller: help it on
		return again, 0, 0
	case w.head.Load() != h:
		return again, 0, 0 // else y was the next group when it was read
	case !w.admits(now):
		if early := w.early(now); early > 0 {
			return refused, 0, early
		}
		return again, 0, 0
	}
	age := w.age(y, now)
	if age >= w.per || w.used(y) == 0 {
		return w.open(h, h2, y, n, now, age), h2, 0
	}
	pool := w.pool.Load()
	if pool > 0 {
		if v, ref := w.spend(h, h2, x, y, n, pool, now); v != refused {
			return v, ref, 0
		}
	}
	if next.Load() != y {
		return again, 0, 0 // else it was judged in the right era
	}
	if n == 1 && pool >= 0 {
		return refused, 0, w.per - age
	}
	return refused, 0, w.wait(now, n)
}

// after returns the head after h.
func (w *window) after(h uint64) uint64 {
	if int(h&0xff)+1 < len(w.words) {
		return h + 1
	}
	return (h>>8 + 1) << 8
}

// admits reports whether calls of that reading are admitted at all. It must be called after the words, or the pool, that it
// vouches for were read: then the ages of those that are still the same are right, and tokens seen in them are free for
// that reading.
func (w *window) admits(now time.Duration) bool {
	return uint64(now)-uint64(w.era.Load()) < w.eraLength && int64(now) >= w.low.Load()
}

// early returns how long too early a reading is that is not admitted; or it begins an era for it and returns -1:
// everything must be read again.
func (w *window) early(now time.Duration) time.Duration {
	if uint64(now)-uint64(w.era.Load()) >= w.eraLength {
		return w.turnEra(now)
	}
	if low := time.Duration(w.low.Load()); now < low {
		return low - now
	}
	return -1
}

// end makes sure that, when the tokens of a life that has ended become free, they serve no reading less than the
// interval after it. It must come before they do. A life with nothing taken has nothing to end: whatever took
// its tokens before has been ended.
func (w *window) end(x uint64, now, age time.Duration) {
	if age >= w.per && w.used(x) > 0 {
		raise(&w.low, int64(now-age+w.per))
	}
}

// take takes up to k units out of the pool.
func (w *window) take(k int64) int64 {
	for {
		p := w.pool.Load()
		if p <= 0 || k <= 0 {
			return 0
		}
		if t := min(k, p); w.pool.CompareAndSwap(p, p-t) {
			return t
		}
	}
}

// open begins a life in the group that the head h2 names, whose word y, of that age, is empty or has ended, and moves the
// head there from h. It brings the group's share towards the fair one, or what n needs, through the pool; where that
// does not do for n the group begins empty and leaves all it has to the pool: skipped.
func (w *window) open(h, h2, y uint64, n int64, now, age time.Duration) verdict {
	w.end(y, now, age)
	group := int(h2 & 0xff)
	share, want := w.share(y), max(w.fair(group), 1)
	if n > 1 { // room for whole costs, as what is left of a share is of little use
		want = min(w.units((want*w.unit+n-1)/n*n), w.maxShare())
	}
	var took, give int64
	if p := w.pool.Load(); p < 0 {
		give = min(share, -p)
	} else if share > want {
		give = share - want
	} else if took = w.take(want - share); took > 0 && !w.admits(now) {
		w.pool.Add(took) // those tokens are not for this reading
		return again
	}
	v := admitted
	if share += took - give; share*w.unit < n {
		v, n, give, share = skipped, 0, give+share, 0
	}
	if !w.words[group].CompareAndSwap(y, w.word(h2>>8, n, share, now)) {
		w.pool.Add(took)
		return again
	}
	if give > 0 {
		w.pool.Add(give)
	}
	w.head.CompareAndSwap(h, h2)
	return v
}

// widest is how many times the fair share (or what one cost needs) a group gets to hold while the next one cannot be
// opened: the admissions of one life are all counted until the latest leaves the interval.
const widest = 4

// spend admits n calls with units out of the pool, which has so many, while the next group, whose word is y, cannot be
// opened yet: calls that were given back, or a raised limit, left them. They go to the group in use, whose word is x, or
// if that is wide enough to the next.
func (w *window) spend(h, h2, x, y uint64, n, pool int64, now time.Duration) (v verdict, ref uint64) {
	most := min(widest*max(w.fair(int(h&0xff)), w.units(n)), w.maxShare())
	need := w.units(max(0, n-w.free(x)))
	if w.share(x)+need <= most && w.age(x, now) < w.per {
		if need > pool {
			return refused, 0
		}
		return w.extend(h, x, need, n, now), h
	}
	need = min(max(w.units(n), most-w.share(y)), pool)
	if need*w.unit < n || w.share(y)+need > w.maxShare() {
		return refused, 0
	}
	return w.absorb(h, h2, y, need, n, now), h2
}

// extend admits n calls in the group in use, whose word is x, with need units out of the pool.
func (w *window) extend(h, x uint64, need, n int64, now time.Duration) verdict {
	took := w.take(need)
	if took == need && w.admits(now) &&
		w.words[h&0xff].CompareAndSwap(x, w.join(w.resize(x, need), n, now, w.age(x, now))) {
		return admitted
	}
	w.pool.Add(took)
	return again
}

// absorb opens the next group, whose word is y, before its life has ended, with need units out of the pool: the new life
// takes over the admissions of the old one, which so are counted for longer than they have to.
func (w *window) absorb(h, h2, y uint64, need, n int64, now time.Duration) verdict {
	took := w.take(need)
	z := w.join(w.resize(y, need), n, now, w.age(y, now))
	z = z<<4>>4 | h2>>8&lapMask<<lapShift | mixed
	if took == need && w.admits(now) && w.words[h2&0xff].CompareAndSwap(y, z) {
		w.head.CompareAndSwap(h, h2)
		return admitted
	}
	w.pool.Add(took)
	return again
}

// strip moves the free units of the group in use, whose word was x, to the pool. It reports whether there were any.
func (w *window) strip(group *atomic.Uint64, x uint64) bool {
	units := w.free(x) / w.unit
	if units == 0 || x >= sealed {
		return false
	}
	if group.CompareAndSwap(x, w.resize(x, -units)) {
		w.pool.Add(units)
	}
	return true
}

// cancel gives n calls of the admission ref back, if the life they belong to has not ended.
func (w *window) cancel(ref uint64, n int64) {
	group := &w.words[ref&0xff]
	for {
		x := group.Load()
		// The head is read after the word: if it is less than lapMask laps ahead, the word's lap tells its life.
		if w.head.Load()>>8-ref>>8 >= lapMask || x >= sealed || w.used(x) < n {
			return
		}
		if later := (x>>lapShift - ref>>8) & lapMask; later > 1 || later == 1 && x&mixed == 0 {
			return
		}
		units := w.units(w.used(x)) - w.units(w.used(x)-n)
		if group.CompareAndSwap(x, w.resize(x, -units)+uint64(n)<<w.freeShift) {
			w.pool.Add(units)
			return
		}
	}
}

// wait returns after what time n refused calls could pass if nothing else came.
func (w *window) wait(now time.Duration, n int64) time.Duration {
	if n > w.cur.Load() {
		return w.per // a higher limit may be in force by then
	}
	have, wait := w.pool.Load()*w.unit, time.Duration(1)
	h := w.head.Load()
	if x := w.words[h&0xff].Load(); w.age(x, now) < w.per {
		have += w.free(x)
	}
	for range w.words {
		h = w.after(h)
		x := w.words[h&0xff].Load()
		if have += w.share(x) * w.unit; w.used(x) > 0 {
			wait = max(wait, w.per-w.age(x, now))
		}
		if have >= n {
			break
		}
	}
	return wait
}
