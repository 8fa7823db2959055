package isolation

import "time"

// alone is the name of the criterion for the last instance in service.
const alone = "alone"

// solo is since when an instance fails more than Rule.PeersFailing without a result of a peer, for a rule with MayEmpty.
type solo struct {
	mark
	open bool
}

// judge judges a failure of an instance whose peers get no calls by itself: it is sick if it distinctly fails more than Rule.PeersFailing. By such a rule the last instance
// may go too; decide sees to it that all others are out.
func (s *solo) judge(now time.Duration, p *params, own, all counts, bound float64) (Evidence, bool) {
	n, f, N, _ := s.since(own, all)
	most := p.rule.PeersFailing
	if !s.open || N > 0 || float64(f-1) <= float64(n-1)*most {
		*s = solo{mark{own.less(), all.less(), now}, true}
		return Evidence{}, false
	}
	if f < int64(p.rule.MinFailures) || rate(f, n) <= most {
		return Evidence{}, false
	}
	nats := float64(n) * divergence(rate(f, n), most)
	return Evidence{Criterion: alone, Calls: n, Failures: f, Since: s.at, Nats: nats, Bound: bound}, nats >= bound
}
