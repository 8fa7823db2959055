package paramflow

import "github.com/cordon-go/cordon/extractor"

// Flights count what is in flight of each value of a stripe, by reference: a value has an entry while it has calls in flight, and no longer.
type flights struct {
	live  map[extractor.Value]*flight
	spare []*flight
	total int64
	peak  int
}

// A flight is a value with calls in flight.
type flight struct {
	count  int64
	serial uint32 // grows when the entry passes to another value, so that a permit ended twice cannot end another's call
	value  extractor.Value
}

const (
	// maxSpare is how many entries a stripe keeps for values to come.
	maxSpare = 64
	// roomyPeak is from how many values on the memory of a crowd is given back when it has gone.
	roomyPeak = 256
)

// enter counts n calls of a value, if not more than most are in flight then.
func (f *flights) enter(v extractor.Value, n, most int64) (*flight, bool) {
	e := f.live[v]
	if e == nil {
		if n > most {
			return nil, false
		}
		e = f.add(v)
	} else if e.count+n > most {
		return nil, false
	}
	e.count += n
	f.total += n
	return e, true
}

func (f *flights) add(v extractor.Value) *flight {
	if f.live == nil {
		f.live = make(map[extractor.Value]*flight)
	}
	var e *flight
	if last := len(f.spare) - 1; last >= 0 {
		e, f.spare = f.spare[last], f.spare[:last]
	} else {
		e = new(flight)
	}
	e.value = v
	f.live[v] = e
	f.peak = max(f.peak, len(f.live))
	return e
}

// leave ends n calls, and reports whether they were in flight.
func (f *flights) leave(e *flight, serial uint32, n int64) bool {
	if e.serial != serial || n > e.count {
		return false
	}
	e.count -= n
	f.total -= n
	if e.count > 0 {
		return true
	}
	delete(f.live, e.value)
	e.serial++
	e.value = extractor.Value{}
	if len(f.spare) < maxSpare {
		f.spare = append(f.spare, e)
	}
	if len(f.live) == 0 && f.peak >= roomyPeak {
		f.live, f.peak = nil, 0 // a map does not shrink
	}
	return true
}

// drop forgets all; permits of before end nothing.
func (f *flights) drop() {
	for _, e := range f.live {
		e.serial++
	}
	*f = flights{}
}

// rekey gives every value another key.
func (f *flights) rekey(key func(extractor.Value) extractor.Value) {
	live := make(map[extractor.Value]*flight, len(f.live))
	for _, e := range f.live {
		e.value = key(e.value)
		live[e.value] = e
	}
	f.live = live
}
