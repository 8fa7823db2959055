package paramflow

import (
	"cmp"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/cordon-go/cordon/extractor"
)

const (
	// topValues is how many values a Status lists.
	topValues = 20
	// sampledLines is at how many lines of each stripe Pressure looks: all of the default memory.
	sampledLines = 64
	// crowdedFrom and crowdedUntil are the pressures at which a limiter begins and ceases to be crowded.
	crowdedFrom  = fullAt
	crowdedUntil = 0.5
)

// Status is a limiter at one moment.
type Status struct {
	// Top are the hottest values, at most 20, those first that call most now.
	Top []TopValue `json:"top,omitempty"`
	// Pressure is how many values are in use (see Rule.Values) in proportion to how many there is room for. Up to .7 fewer than one value in 1000 shares its cells;
	// above .8 more and more do, which may be refused too early. 0 for concurrency.
	Pressure float64 `json:"pressure"`
	// Crowded tells that pressure has passed .7 and not fallen below .5 since, as far as it was asked for (Limiter.Crowded).
	Crowded bool `json:"crowded"`
	// Values is about how many different values are in use; for concurrency exactly how many have calls in flight.
	Values int64 `json:"values"`
	// Named is how many values have an override of their own.
	Named int `json:"named"`
	// InFlight is how many calls are in flight, by cost (mode concurrency).
	InFlight int64 `json:"inFlight,omitempty"`
	// Passed and Refused count calls since the limiter was made, those taken back not.
	Passed  int64 `json:"passed"`
	Refused int64 `json:"refused"`
	// Doubtful is how many of the refused calls were of values that shared their cells: at most so many were refused too early.
	Doubtful int64 `json:"doubtful"`
	// Bytes is the limiter's memory, for concurrency without what is in flight.
	Bytes int `json:"bytes"`
}

// TopValue is one of the hottest values.
type TopValue struct {
	// Value is its canonical text, or a keyed hash if the rule says Redact.
	Value string `json:"value"`
	// Passed and Refused count its calls since it was noticed.
	Passed  int64 `json:"passed"`
	Refused int64 `json:"refused"`
	// Error is about how many calls it may have made before it was noticed.
	Error int64 `json:"error"`
	// Limit is its limit.
	Limit float64 `json:"limit"`
}

// Status returns the limiter's state. It looks at all that the limiter counts, so it is not for the path of a call.
func (l *Limiter) Status(now time.Duration) Status {
	st := Status{Crowded: l.crowded.Load(), Bytes: len(l.stripes) * int(unsafe.Sizeof(stripe{}))}
	var top []standing
	for i := range l.stripes {
		s := &l.stripes[i]
		s.mu.Lock()
		st.Passed += s.passed
		st.Refused += s.refused
		st.Doubtful += s.doubtful
		st.InFlight += s.total
		st.Values += int64(len(s.live))
		st.Bytes += len(s.lines)*lineBytes + len(s.classes)*2 + len(s.guesses)*int(unsafe.Sizeof(guess{}))
		if i == 0 {
			named := &l.plan.named
			st.Named = len(named.values)
			st.Bytes += len(named.values)*int(unsafe.Sizeof(named.values[0])) + len(named.slots)*int(unsafe.Sizeof(slot{}))
		}
		s.ranks.fadeTo(l.ticks(now))
		top = s.ranks.list(top, l.plan.rule.Redact)
		s.mu.Unlock()
	}
	slices.SortFunc(top, func(a, b standing) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.Passed+b.Refused, a.Passed+a.Refused), cmp.Compare(a.hash, b.hash))
	})
	for _, r := range top[:min(len(top), topValues)] {
		if r.redact {
			r.Value = l.redacted(r.hash)
		} else {
			r.Value = r.value.String()
		}
		st.Top = append(st.Top, r.TopValue)
	}
	var values int64
	if st.Pressure, values = l.pressure(now); values > 0 {
		st.Values = values
	}
	return st
}

// A standing is a value that ranks counts.
type standing struct {
	TopValue
	value  extractor.Value
	hash   uint64
	weight uint32
	redact bool
}

// list appends the values that are known.
func (r *ranks) list(to []standing, redact bool) []standing {
	for i := range ranked {
		if r.known[i] && r.passed[i]+r.refused[i] > 0 {
			v := TopValue{Passed: r.passed[i], Refused: r.refused[i], Error: int64(r.missed[i]), Limit: r.limit[i]}
			to = append(to, standing{v, r.value[i], r.hash[i], r.weight[i], redact})
		}
	}
	return to
}

// Pressure returns how full the limiter is, see Status.Pressure. It looks at all cells of the default memory and at a sample of larger ones, in about a tenth of a
// millisecond: for once a second, not for the path of a call.
func (l *Limiter) Pressure(now time.Duration) float64 {
	p, _ := l.pressure(now)
	return p
}

// pressure returns the pressure and about how many values are in use.
func (l *Limiter) pressure(now time.Duration) (p float64, values int64) {
	t := l.ticks(now)
	var looked, lines, own, shared int
	for i := range l.stripes {
		s := &l.stripes[i]
		s.mu.Lock()
		n := min(len(s.lines), sampledLines)
		a, b := s.usage(int(t>>20)&max(len(s.lines)-1, 0), n, t)
		lines += len(s.lines)
		s.mu.Unlock()
		looked, own, shared = looked+n, own+a, shared+b
	}
	if looked == 0 {
		return 0, 0
	}
	// How many values share so many cells is told by how many of those are empty (linear counting). Each is in two.
	all := float64(looked * sharedCells)
	sharing := -math.Log(max(1-float64(shared)/all, 0.5/all)) * all / 2
	inUse := float64(own) + sharing
	return inUse / float64(looked*ownCells), int64(math.Round(inUse * float64(lines) / float64(looked)))
}

// Crowded reports whether the limiter is crowded, so that values may be refused too early: from a pressure of .7 on until it falls below .5. changed tells that it was not so when it was asked
// last. It costs as much as Pressure.
func (l *Limiter) Crowded(now time.Duration) (crowded, changed bool) {
	p := l.Pressure(now)
	if l.crowded.Load() {
		return p >= crowdedUntil, p < crowdedUntil && l.crowded.CompareAndSwap(true, false)
	}
	return p >= crowdedFrom, p >= crowdedFrom && l.crowded.CompareAndSwap(false, true)
}

// Idle reports whether at now the limiter holds back nothing that a new one would not, so that it may be dropped and made anew.
func (l *Limiter) Idle(now time.Duration) bool {
	t := l.ticks(now)
	for i := range l.stripes {
		if !l.stripes[i].idle(t) {
			return false
		}
	}
	l.stripes[0].mu.Lock()
	named := l.plan.named.values
	l.stripes[0].mu.Unlock()
	for i := range named {
		s, _ := l.stripe(named[i].hash)
		s.mu.Lock()
		counts := named[i].at > t
		s.mu.Unlock()
		if counts {
			return false
		}
	}
	return true
}

func (s *stripe) idle(t int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, shared := s.usage(0, len(s.lines), t)
	return own == 0 && shared == 0 && s.total == 0
}
