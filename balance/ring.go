package balance

import (
	"math"
	"math/bits"

	"github.com/cordon-go/cordon/isolation"
)

// ring is the consistent hash. Every instance has some points on a circle, by its address. A hash gives some probes, evenly thrown; each finds the next point, and the nearest point of all, its distance
// divided by its instance's weight, says who gets the call. So an instance's share is in proportion to its weight, to a few percent, with
// few points (multi-probe consistent hashing), and a change of one instance moves hashes only to it or from it.
type ring struct {
	// points are the circle's, sorted: the place in the high bits, in the low ones which instance's it is.
	points []uint64
	first  []uint32 // where the points of a part of the circle begin
	shift  uint     // gives a place's part
	mask   uint64   // the bits that say which instance
	nodes  []node
	even   bool // all stretch alike

	bound    float64 // Options.LoadBound
	inFlight func() float64
	members  []isolation.Candidate
}

// node is an instance on the circle.
type node struct {
	stretch float64 // what distances to its points are multiplied by: the less, the more hashes are its
	share   float64 // of the weight of all
	who     int32
}

const (
	pointsPerNode = 8
	probesPerHash = 8
)

// newRing makes a circle of instances with weights. inFlight returns how many calls to all of them are under way.
func newRing(who []int32, weights []float64, members []isolation.Candidate, bound float64, inFlight func() float64) *ring {
	r := &ring{nodes: make([]node, len(who)), even: even(weights), bound: bound, inFlight: inFlight, members: members}
	r.mask = 1<<bits.Len(uint(len(who)-1)) - 1
	shares := relative(weights)
	total := sum(shares)
	unit := atLeast(total / float64(len(shares)))
	keys := make([]uint64, 0, pointsPerNode*len(who))
	for i, share := range shares {
		// Who is heavier than most gets more points, for the nearest point of one instance cannot be nearer than its next one.
		times := max(math.Ceil(share/unit*(1-1e-9)), 1)
		r.nodes[i] = node{stretch: times * (unit / share), share: share / total, who: who[i]}
		h := place(members[who[i]].Member.Address())
		for range pointsPerNode * int(times) {
			h += golden
			keys = append(keys, mix(h)&^r.mask|uint64(i))
		}
	}
	r.first, r.shift, r.points = scatter(keys)
	return r
}

// atLeast returns the least power of two that is not below x: a unit that stays the same, and so do the points, as long as the mean weight does not change much.
func atLeast(x float64) float64 {
	frac, exp := math.Frexp(x * (1 - 1e-9))
	if frac == .5 {
		exp--
	}
	return math.Ldexp(1, exp)
}

// place returns the hash of an address, from which its points' places follow. It must never change from one version to the next: another process may
// have the other one.
func place(address string) uint64 {
	h := uint64(0xcbf29ce484222325) // FNV-1a
	for i := range len(address) {
		h = (h ^ uint64(address[i])) * 0x100000001b3
	}
	return h
}

// owner returns the node that a hash belongs to.
func (r *ring) owner(hash uint64) *node {
	at := mix(hash + golden)
	step := mix(at) | 1
	var owner *node
	nearest := math.Inf(1)
	for range probesPerHash {
		p := r.next(at)
		distance := float64(p&^r.mask - at&^r.mask) // around the circle, modulo 2^64
		n := &r.nodes[p&r.mask]
		if !r.even {
			distance *= n.stretch
		}
		if distance < nearest {
			nearest, owner = distance, n
		}
		at += step
	}
	return owner
}

// next returns the first point at a place or after it.
func (r *ring) next(at uint64) uint64 {
	at &^= r.mask
	i := int(r.first[at>>r.shift])
	for i < len(r.points) && r.points[i] < at {
		i++
	}
	if i == len(r.points) {
		i = 0
	}
	return r.points[i]
}

// again turns a hash into the one that a call goes by when its instance cannot take it. What is passed on from one instance is thus spread over all
// others, and not the next one's.
func again(hash uint64, times int) uint64 {
	if times == 0 {
		return hash
	}
	return mix(hash + uint64(times)*stepRegion)
}

// Of mostPasses instances that a hash may be passed on to, one should be below the bound: all instances above it have 1/bound of the
// weight at most.
const mostPasses = 64

func (r *ring) choose(hash uint64, try int) int32 {
	limit := r.bound * (r.inFlight() + float64(len(r.nodes)))
	for pass := range mostPasses {
		if n := r.owner(again(hash, try*mostPasses+pass)); r.load(n) < limit*n.share {
			return n.who
		}
	}
	// A bound very near 1, or calls that this balancer does not know of.
	least := &r.nodes[0]
	for i := range r.nodes {
		if n := &r.nodes[i]; r.load(n)*least.share < r.load(least)*n.share {
			least = n
		}
	}
	return least.who
}

func (r *ring) load(n *node) float64 { return float64(r.members[n.who].Member.InFlight()) }
