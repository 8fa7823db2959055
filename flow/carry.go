package flow

import (
	"math"
	"slices"
	"time"
)

// A past is what a state leaves to the next one.
type past struct {
	gen    uint32
	origin origin
	sensor *Sensor
	// A window leaves its admissions, oldest first, and the earliest reading that it admits.
	history []members
	low     time.Duration
	// A state that spaces calls leaves its line.
	line *line
	// warm is the warmth if there was one, else use is what share of the limit was in use.
	warm *warmth
	use  float64
}

// A line is what is left of a state that spaces calls. end is when all that was admitted is worked off (Smooth), or the
// first turn not promised (Pace), in ticks; gap is the distance of calls.
type line struct {
	end, gap int64
	burst    int64     // 1 for Pace
	smooth   *smoother // nil for Pace
	given    []run
}

// beginning is the past of a new limiter.
func beginning(now time.Duration, sensor *Sensor) past {
	return past{low: math.MinInt64, origin: origin(now), sensor: sensor}
}

// close ends the state for good, so that every caller who comes now goes on to the next, and returns what it leaves to a
// state for the rule.
func (s *state) close(r Rule, now time.Duration) past {
	p := past{gen: s.gen + 1, low: math.MinInt64, origin: origin(now)}
	if s.parts != nil {
		p.origin, p.sensor, p.warm = s.parts.origin, s.parts.sensor, s.parts.warm
	}
	t := p.origin.ticks(now)
	switch {
	case s.law == smoothing:
		m := s.parts.smooth
		p.use = min(1, m.usage(t))
		p.line = &line{end: m.close(), gap: m.gap, burst: m.burst, smooth: m}
	case s.law == pacing:
		pc := s.parts.pace
		p.use = min(1, pc.usage(t))
		end, given := pc.close()
		p.line = &line{end: end, gap: pc.base, burst: 1, given: given}
	case s.parts != nil && s.parts.kept != nil:
		gen := p.gen
		p = *s.parts.kept
		p.gen = gen
	case s.max > 0:
		p.use = float64(s.usage(now)) / float64(s.max)
		p.history, p.low = s.window.close()
	}
	if p.line != nil && s.mode == r.Mode && r.Limit > 0 && p.line.gap == gapOf(r.Limit, r.Per) {
		p.gen = s.gen // the same line goes on
	}
	return p
}

// over reports whether nothing of the past counts at now any more, for a rule of that interval.
func (p past) over(per, now time.Duration) bool {
	n := len(p.history)
	return (n == 0 || now-p.history[n-1].at >= per) &&
		(p.line == nil || p.origin.reading(p.line.end) <= now) && (p.warm == nil || p.warm.cold(now))
}

// heat returns how warm a resource is to begin with under a rule with that cold factor: 0 for cold, 1 for warm.
func (p past) heat(factor float64) float64 {
	if p.warm != nil {
		return p.warm.heat()
	}
	if p.use <= 0 {
		return 0
	}
	return max(0, 1-(1/min(p.use, 1)-1)/(factor-1)) // where the curve's rate is the one in use
}

// admissions returns what counts in a window over an interval, oldest first, and the earliest reading that it may admit.
func (p past) admissions(per, now time.Duration) (history []members, low time.Duration) {
	if p.line != nil {
		return p.line.admissions(per, now, p.origin), now
	}
	history, low = p.history, p.low
	ended := 0
	for ended < len(history) && now-history[ended].at >= per {
		low = max(low, history[ended].at+per)
		ended++
	}
	return history[ended:], low
}

// admissions returns the admissions that the line may have seen at most in the last interval, at the latest times possible:
// all it knows is that from any x on it admitted at most (end-x)/gap.
func (l *line) admissions(per, now time.Duration, o origin) []members {
	latest := time.Duration(math.MaxInt64) // a promised turn may lie ahead
	if l.smooth != nil {
		latest = max(now, o.reading(l.smooth.latest.Load()))
	}
	n := max(0, l.end-o.ticks(now-per)) / l.gap
	chunk := max(1, (n+maxGroups-1)/maxGroups)
	var history []members
	for first := int64(1); first <= n; first += chunk {
		at := o.reading(l.end - first*l.gap)
		history = append(history, members{min(at, latest), min(chunk, n-first+1)})
	}
	slices.Reverse(history)
	return history
}

// end returns where the line of calls that are gap apart goes on, in ticks, for a rule whose interval is per.
// What was counted before delays calls by at most two intervals of the rule, or the time to earn its burst if that is longer.
func (p past) end(gap, burst int64, per, now time.Duration) int64 {
	t := p.origin.ticks(now)
	most := 2 * max(int64(per)<<tickBits, burst*gap)
	if l := p.line; l != nil {
		return l.goOn(gap, burst, most, t)
	}
	if len(p.history) == 0 {
		return t
	}
	end := int64(-farthest) << tickBits
	for _, m := range p.history {
		at := p.origin.ticks(m.at)
		end = min(max(end, at)+min(m.count, most/gap+1)*gap, max(at, t)+most)
	}
	return end
}

// goOn returns where the line goes on with another gap and burst (1 for Pace). While the line is not worked off, what was
// left of the old burst is left of the new one.
func (l *line) goOn(gap, burst, most, t int64) int64 {
	if gap == l.gap && burst == l.burst {
		return l.end
	}
	last := l.end - l.gap + gap // a gap after the last call, or promised turn
	if l.smooth != nil {
		t = max(t, l.smooth.latest.Load())
	}
	if l.end <= t {
		return min(last, t)
	}
	left := float64(l.burst) - float64(l.end-t)/float64(l.gap)
	end := t + min(max(0, int64(math.Ceil((float64(burst)-left)*float64(gap)*oneLess))), most)
	if l.smooth == nil {
		end = max(end, last)
	}
	return end
}
