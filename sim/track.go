package sim

import "fmt"

// none is no index.
const none int32 = -1

// maxStill is how many conditions in a row may hold for no time, before a script counts as one that does not go on.
const maxStill = 10_000

// track is a script while it is played.
type track struct {
	next  Track
	now   Condition
	owner int32 // the server it is of; none: all
	name  string
}

// weather is the sum of conditions of several tracks.
type weather struct {
	failures, throttles  float64
	latencies            []Latency
	failFast, down, hung bool
}

func (s *weather) reset() { *s = weather{latencies: s.latencies[:0]} }

func (s *weather) add(c *Condition) {
	s.failures += c.Failures
	s.throttles += c.Throttles
	if c.Latency != nil {
		s.latencies = append(s.latencies, c.Latency)
	}
	s.failFast = s.failFast || c.FailFast
	s.down = s.down || c.Down
	s.hung = s.hung || c.Hangs
}

func (s *weather) addAll(o *weather) {
	s.failures += o.failures
	s.throttles += o.throttles
	s.latencies = append(s.latencies, o.latencies...)
	s.failFast = s.failFast || o.failFast
	s.down = s.down || o.down
	s.hung = s.hung || o.hung
}

// turn goes on to a track's next condition.
func (w *world) turn(i int32) {
	t := &w.tracks[i]
	was := t.now
	until := w.now
	for still := 0; until <= w.now; still++ {
		t.now, until = t.next()
		if still == maxStill || until < w.now {
			w.fault = fmt.Errorf("sim: script %s: at %v it goes on to %v; want ends that do not go back, and get on", t.name, w.now, until)
			return
		}
	}
	if until < w.scenario.Length {
		w.line.add(until, changes, i, 0)
	}
	if t.now == was {
		return
	}
	if t.owner == none {
		w.common.reset()
		for i := range w.scenario.Common {
			if i < len(w.tracks) {
				w.common.add(&w.tracks[i].now)
			}
		}
		for i := range w.servers {
			w.servers[i].stale = true
		}
		if t.now.Down && !was.Down {
			for i := range w.servers {
				w.cut(int32(i))
			}
		}
		return
	}
	v := &w.servers[t.owner]
	v.stale = true
	if t.now.Down && !was.Down {
		w.cut(t.owner)
	}
	switch {
	case was.well() && !t.now.well():
		w.ail(t.owner, +1)
	case !was.well() && t.now.well():
		w.ail(t.owner, -1)
	}
}

// ail counts the reasons for which a server is ill.
func (w *world) ail(i int32, by int) {
	v := &w.servers[i]
	v.ailments += by
	switch {
	case by > 0 && v.ailments == 1:
		w.book.fallIll(w.now, int(i))
	case by < 0 && v.ailments == 0:
		w.book.recovered(w.now, int(i))
	}
}

// sky returns what a server's condition is now.
func (w *world) sky(i int32) *weather {
	v := &w.servers[i]
	if !v.stale {
		return &v.weather
	}
	v.stale = false
	v.weather.reset()
	v.weather.add(&v.spec.Base)
	v.weather.addAll(&w.common)
	for j := v.firstTrack; j < v.endTrack; j++ {
		v.weather.add(&w.tracks[j].now)
	}
	return &v.weather
}
