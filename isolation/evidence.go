package isolation

import "math"

// tolerated returns the failure rate up to which an instance is no outlier when its peers' is q: MinGap/2 above it, or √MinRatio times its odds, whichever is more.
func (p *params) tolerated(q float64) float64 {
	return min(.999, max(q+p.rule.MinGap/2, p.odds*q/(1+(p.odds-1)*q)))
}

// divergence is the Kullback–Leibler divergence of two coins with chances a and b of failure, in nats.
func divergence(a, b float64) float64 {
	d := 0.0
	if a > 0 {
		d = a * math.Log(a/b)
	}
	if a < 1 {
		d += (1 - a) * math.Log((1-a)/(1-b))
	}
	return d
}

// ratio is the logarithm of the likelihood ratio, in nats, of "the instance fails more than tolerated" against "it does not", its peers' rate being whatever makes
// the latter most likely: n and f are the instance's calls and failures, N and F its peers' in the same time.
func (p *params) ratio(n, f, N, F int64) float64 {
	if N <= 0 || n <= 0 {
		return 0
	}
	own, others := float64(f)/float64(n), float64(F)/float64(N)
	against := func(q float64) float64 {
		q = min(max(q, 1e-12), 1-1e-12)
		nats := 0.0
		if tol := p.tolerated(q); tol < own {
			nats = float64(n) * divergence(own, tol)
		}
		return nats + float64(N)*divergence(others, q)
	}
	// The first term falls and the second rises with q from others on, up to own at the latest, where the first has come down to 0. Between the kinks of what is
	// tolerated their sum has one minimum.
	least, low, most := math.Inf(1), others, max(own, others)
	for {
		high := most
		for _, kink := range p.kinks {
			if low < kink && kink < high {
				high = kink
				break
			}
		}
		least = min(least, lowest(against, low, high))
		if high >= most {
			return least
		}
		low = high
	}
}

// lowest returns the minimum of a function that has but one between low and high, by golden section.
func lowest(of func(float64) float64, low, high float64) float64 {
	const golden, steps = .6180339887498949, 30
	a, b := high-golden*(high-low), low+golden*(high-low)
	atA, atB := of(a), of(b)
	for range steps {
		if atA < atB {
			high, b, atB = b, a, atA
			a = high - golden*(high-low)
			atA = of(a)
		} else {
			low, a, atA = a, b, atB
			b = low + golden*(high-low)
			atB = of(b)
		}
	}
	return min(atA, atB)
}

// kinks returns the two rates of the peers, in order, between which the odds tolerate more than the gap does; none is 0 and 0.
func kinks(gap, odds float64) [2]float64 {
	d := (1-gap)*(1-gap) - 4*gap/(odds-1)
	if !(d > 0) {
		return [2]float64{}
	}
	d = math.Sqrt(d)
	return [2]float64{(1 - gap - d) / 2, (1 - gap + d) / 2}
}
