package balance

import "github.com/cordon-go/cordon/isolation"

// pairs draws two different instances by weight, and takes the one with less to do.
type pairs struct {
	lottery
	members []isolation.Candidate
	weights []float64 // of the tickets
}

func newPairs(who []int32, weights []float64, members []isolation.Candidate, s *source) *pairs {
	return &pairs{lottery: *newLottery(who, weights, s), members: members, weights: weights}
}

func (p *pairs) choose(uint64, int) int32 {
	first := p.draw()
	if len(p.tickets) > 1 {
		if second := p.other(first); p.relieves(second, first) {
			first = second
		}
	}
	return p.tickets[first].who
}

// other draws another ticket. If one weighs more than all others together, it is mostly drawn again: then any other will do.
func (p *pairs) other(first int32) int32 {
	const redraws = 4
	for range redraws {
		if second := p.draw(); second != first {
			return second
		}
	}
	n := uint64(len(p.tickets))
	return int32((uint64(first) + 1 + p.source.next()%(n-1)) % n)
}

// relieves says whether the call is better off with the second than with the first. The draw has given each its weight's share
// already, so weight must not count twice: a light instance that happens to be idle is not better off than a heavy one with a single call. Only who has less
// to do for its weight before the call and after it is better.
func (p *pairs) relieves(second, first int32) bool {
	a, b := p.load(second), p.load(first)
	wa, wb := p.weights[second], p.weights[first]
	return a/wa < b/wb && (a+1)/wa < (b+1)/wb
}

func (p *pairs) load(t int32) float64 {
	return float64(p.members[p.tickets[t].who].Member.InFlight())
}
