package balance

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
)

// turns is the round robin. Its slots are taken in turn, by a counter that all callers share. An instance has one slot, or several evenly
// spread ones if it is heavier than the mean, so that no slot is heavier than that. In every round a slot adds its weight, relative
// to the heaviest slot's, to its phase, and is passed over unless the phase goes beyond 1. Since there are at most twice as many slots as
// instances, half of the slots or more are not passed over, whatever the weights: a choice takes two steps or fewer in the mean.
//
// Whoever passes over a slot has moved the counter on, for all: the next slot's instance gets no more calls for it.
type turns struct {
	counter *atomic.Uint64
	slots   []slot
	even    bool // all weights are equal: no slot is passed over
}

// slot is an instance's turn.
type slot struct {
	// weight, less one, and offset, the phase at the beginning, are in units of 2^-32.
	weight uint32
	offset uint32
	who    int32
}

// mostSkips bounds the work of a choice. More slots in a row are not passed over: the chance is less than one in 10^6 for the worst of weights.
const mostSkips = 64

func (t *turns) choose(uint64, int) int32 {
	n := uint64(len(t.slots))
	if t.even {
		return t.slots[(t.counter.Add(1)-1)%n].who
	}
	var s *slot
	for range mostSkips {
		c := t.counter.Add(1) - 1
		s = &t.slots[c%n]
		if s.due(uint32(c / n)) {
			break
		}
	}
	return s.who
}

// due says whether the slot is taken in that round.
func (s *slot) due(round uint32) bool {
	phase := round*(s.weight+1) + s.offset // modulo 1
	return uint64(phase)+uint64(s.weight)+1 >= 1<<32
}

// newTurns makes a round robin of instances with weights.
func newTurns(who []int32, weights []float64, counter *atomic.Uint64) *turns {
	t := &turns{counter: counter, even: even(weights)}
	if t.even {
		t.slots = make([]slot, len(who))
		for i, w := range who {
			t.slots[i] = slot{weight: math.MaxUint32, who: w}
		}
		return t
	}
	// The sum of what is near the largest number is infinite: it is the shares that matter.
	shares := relative(weights)
	mean := sum(shares) / float64(len(shares))
	// Instances with equally many slots are a class, in which slots take turns evenly; what has less than half of a slot is a class
	// of its own, so that those that are mostly passed over do not follow on each other.
	class := func(share float64) int {
		if share < mean/2 {
			return 0
		}
		return max(int(math.Ceil(share/mean*(1-1e-12))), 1)
	}
	sizes := map[int]int{}
	heaviest, count := 0.0, 0
	for _, share := range shares {
		k := class(share)
		sizes[k]++
		heaviest = max(heaviest, share/float64(max(k, 1)))
		count += max(k, 1)
	}
	type place struct {
		at float64 // within the round, 0 to 1
		slot
	}
	places := make([]place, 0, count)
	ranks := map[int]int{}
	for i, share := range shares {
		k := class(share)
		rank := ranks[k]
		ranks[k]++
		number := max(k, 1)
		weight := share / float64(number) / heaviest * (1 << 32)
		for j := range number {
			places = append(places, place{
				at: (float64(j) + (float64(rank)+.5)/float64(sizes[k])) / float64(number),
				slot: slot{
					weight: uint32(min(max(math.Round(weight), 1), 1<<32) - 1),
					// Phases that lie evenly: so slots of equal weight are passed over in different rounds.
					offset: uint32(uint64(rank*number+j) * golden >> 32),
					who:    who[i],
				},
			})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	t.slots = make([]slot, len(places))
	for i := range places {
		t.slots[i] = places[i].slot
	}
	return t
}

// even reports whether all weights are equal.
func even(weights []float64) bool {
	for _, w := range weights {
		if w != weights[0] {
			return false
		}
	}
	return true
}

// relative returns the weights divided by the largest.
func relative(weights []float64) []float64 {
	largest := slices.Max(weights)
	shares := make([]float64, len(weights))
	for i, w := range weights {
		shares[i] = w / largest
	}
	return shares
}

func sum(numbers []float64) (total float64) {
	for _, x := range numbers {
		total += x
	}
	return total
}
