package isolation

import (
	"sync"
	"sync/atomic"
	"time"
)

// totals counts calls and failures, and calls under way, for one instance or for several that are each other's peers.
type totals struct {
	// word holds the calls under way in its low 24 bits and above them the results counted, modulo 2^40: so a call begins and
	// ends with one addition each. What is asked is only how much was added since a mark, which wrapping around does not change.
	word atomic.Uint64
	// fails counts failures among the results counted.
	fails atomic.Uint64
}

const (
	flightBits = 24
	flightMask = 1<<flightBits - 1
	oneResult  = 1 << flightBits
	callsMask  = 1<<(64-flightBits) - 1
	// fewerThanNone is what the calls under way are above when more have ended than began.
	fewerThanNone = flightMask - 1<<16
)

// begin begins a call, and returns the counts of that moment.
func (t *totals) begin() short {
	return short{uint32(t.word.Add(1) >> flightBits), uint32(t.fails.Load())}
}

// end ends a call whose result counts.
func (t *totals) end() { t.mend(t.word.Add(oneResult - 1)) }

// drop ends a call whose result does not count.
func (t *totals) drop() { t.mend(t.word.Add(^uint64(0))) }

// mend brings the calls under way back to none after a call ended that was not, as a copy of one that had ended.
func (t *totals) mend(word uint64) {
	if word&flightMask > fewerThanNone {
		t.word.Add(1)
	}
}

func (t *totals) inFlight() int64 {
	n := int64(t.word.Load() & flightMask)
	if n > fewerThanNone { // about to be mended
		return 0
	}
	return n
}

func (t *totals) calls() uint64 { return t.word.Load() >> flightBits }

// counts is a reading of totals.
type counts struct{ calls, fails uint64 }

// read returns the counts. Failures are read first, and counted last: so they seldom seem more than the calls.
func (t *totals) read() counts {
	fails := t.fails.Load()
	return counts{t.calls(), fails}
}

// since returns what was counted since an earlier reading, without contradiction: 0 ≤ fails ≤ calls.
func (c counts) since(mark counts) (calls, fails int64) {
	calls = int64((c.calls - mark.calls) & callsMask)
	if calls > callsMask/2 {
		calls = 0 // the mark is a little ahead
	}
	return calls, min(max(int64(c.fails-mark.fails), 0), calls)
}

// short is a reading of totals modulo 2^32: enough to say what was counted between two that are not far from each other.
type short struct{ calls, fails uint32 }

func (c counts) short() short { return short{uint32(c.calls), uint32(c.fails)} }

// since returns what was counted since an earlier reading, without contradiction as that of counts.
func (s short) since(mark short) (calls, fails int64) {
	calls = max(int64(int32(s.calls-mark.calls)), 0)
	return calls, min(max(int64(int32(s.fails-mark.fails)), 0), calls)
}

// less returns the reading without a call that failed.
func (c counts) less() counts { return counts{c.calls - 1, c.fails - 1} }

// peers is the totals of all instances that are each other's peers: of a region, or of the group.
type peers struct {
	_ [64]byte // the totals have a line of the cache for themselves
	totals
	_ [64 - 16]byte
	// size is how many instances they are.
	size atomic.Int64
	// lost is true of a region that as a whole does far worse than the group: its instances are then compared with all, for they have no better
	// peers in it.
	lost atomic.Bool

	// mu guards what follows.
	mu sync.Mutex
	// region compares the region with the group.
	region detector
	// found is when it was found lost, or last looked at since.
	found mark
}

// newRegion returns the peers of a region of a group.
func newRegion(now time.Duration, all *peers) *peers {
	p := new(peers)
	p.region.start(now, p.read(), all.read())
	return p
}

// watch looks at a failure in the region, which is counted already, and says whether the region is lost. Only what is far worse counts: as long as a region works
// at all, what its instances share is no reason to put them out one by one.
func (p *peers) watch(now time.Duration, par *params, all *peers) {
	if !p.mu.TryLock() {
		return // another failure tells as much
	}
	defer p.mu.Unlock()
	own, total := p.read(), all.read()
	if !p.lost.Load() {
		began := stage{own.less().short(), total.less().short()} // when the call did is not known
		if _, sick := p.region.judge(now, par.regions, own, total, began, false, max(all.inFlight()-p.inFlight(), 0), float64(all.size.Load())); sick {
			p.lost.Store(true)
			p.found = mark{own, total, now}
		}
		return
	}
	n, f, N, F := p.found.since(own, total)
	if now-p.found.at < par.rule.LevelTime || n < int64(par.rule.PeersMinCalls) {
		return
	}
	p.found = mark{own, total, now}
	if rate(f, n) <= par.regions.tolerated(rate(F, N)) {
		p.lost.Store(false)
		p.region.start(now, own, total)
	}
}
