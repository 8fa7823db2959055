package balance

import "math/bits"

// lottery draws instances at random by weight, in one step whatever their number (the alias method: every ticket stands for an equal
// share of the numbers drawn, the part of it below its bar for its own instance, and the rest for one that has more than its ticket).
type lottery struct {
	tickets []ticket
	source  *source
}

type ticket struct {
	bar   uint64
	who   int32
	alias int32 // a ticket
}

// newLottery makes a lottery of instances with weights.
func newLottery(who []int32, weights []float64, s *source) *lottery {
	n := len(who)
	l := &lottery{tickets: make([]ticket, n), source: s}
	left := relative(weights)
	scale := float64(n) / sum(left)
	var small, large []int32
	for i := range left {
		left[i] *= scale
		l.tickets[i] = ticket{bar: 1<<64 - 1, who: who[i], alias: int32(i)}
		if left[i] < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, g := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		l.tickets[s].bar, l.tickets[s].alias = below(left[s]), g
		if left[g] -= 1 - left[s]; left[g] < 1 {
			large = large[:len(large)-1]
			small = append(small, g)
		}
	}
	return l
}

// draw returns a ticket.
func (l *lottery) draw() int32 {
	which, rest := bits.Mul64(l.source.next(), uint64(len(l.tickets)))
	if t := &l.tickets[which]; rest >= t.bar {
		return t.alias
	}
	return int32(which)
}

func (l *lottery) choose(uint64, int) int32 { return l.tickets[l.draw()].who }
