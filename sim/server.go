package sim

import (
	"math"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/isolation"
)

// server is an instance while the scenario is played.
type server struct {
	spec    *Instance
	guard   *guardian
	weather weather
	stale   bool // weather is to be added up anew
	// firstTrack to endTrack are its own.
	firstTrack, endTrack int
	ailments             int // reasons for which it is ill: scripts, and a collapse

	// first and last are its jobs, in the order they came; all of them are in flight.
	first, last int32
	inFlight    int
	busy        int // workers

	rate      float64 // calls per second lately, an exponential average
	ratedAt   time.Duration
	collapsed bool
}

// job is a try that an instance takes time for.
type job struct {
	gen    uint32 // of this place: jobs before it are no concern of it
	server int32
	call   int32 // none: the client has given it up
	begun  time.Duration

	outcome isolation.Outcome
	waiting bool // in line for a worker
	hung    bool
	entry   cordon.Entry

	prev, next int32
}

// serve is a try at a server: its outcome if that is known at once, else the job that it became.
func (w *world) serve(i, call int32) (outcome isolation.Outcome, j int32) {
	v := &w.servers[i]
	if v.spec.Capacity > 0 && w.overloaded(i) {
		return isolation.Failure, none
	}
	sky := w.sky(i)
	if sky.down {
		return isolation.LocalError, none
	}
	var entry cordon.Entry
	if v.guard != nil {
		s, _ := v.guard.enter(call, w.scenario.Name)
		if s.err != nil {
			return isolation.Throttled, none
		}
		entry = s.entry
	}
	if v.spec.Workers > 0 && v.busy >= v.spec.Workers {
		if v.spec.Queue > 0 && v.inFlight-v.busy >= v.spec.Queue {
			entry.End(cordon.Failure)
			return isolation.Throttled, none
		}
		j = w.newJob(i, call, entry)
		w.jobs[j].waiting = true
		return 0, j
	}
	outcome, latency := w.draw(sky)
	if latency == 0 && !sky.hung {
		w.book.flight(int(i), v.inFlight+1)
		entry.End(judge(outcome))
		return outcome, none
	}
	j = w.newJob(i, call, entry)
	w.work(j, outcome, latency, sky.hung)
	return 0, j
}

// draw decides what comes of a try.
func (w *world) draw(sky *weather) (isolation.Outcome, time.Duration) {
	outcome := isolation.Success
	if p := sky.failures + sky.throttles; p > 0 {
		if u := w.chance.Float64(); u < sky.failures {
			outcome = isolation.Failure
		} else if u < p {
			outcome = isolation.Throttled
		}
	}
	var latency time.Duration
	if outcome == isolation.Success || !sky.failFast {
		for _, l := range sky.latencies {
			latency += max(l.Draw(w.chance), 0)
		}
	}
	return outcome, latency
}

// work has a worker begin on a job.
func (w *world) work(j int32, outcome isolation.Outcome, latency time.Duration, hung bool) {
	jb := &w.jobs[j]
	w.servers[jb.server].busy++
	jb.waiting, jb.outcome, jb.hung = false, outcome, hung
	if !hung {
		w.line.add(w.now+latency, ends, j, jb.gen)
	}
}

// newJob puts a job into a server's list.
func (w *world) newJob(i, call int32, entry cordon.Entry) int32 {
	var j int32
	if n := len(w.freeJobs); n > 0 {
		j = w.freeJobs[n-1]
		w.freeJobs = w.freeJobs[:n-1]
	} else {
		j = int32(len(w.jobs))
		w.jobs = append(w.jobs, job{})
	}
	jb, v := &w.jobs[j], &w.servers[i]
	*jb = job{gen: jb.gen, server: i, call: call, begun: w.now, entry: entry, prev: v.last, next: none}
	if v.last == none {
		v.first = j
	} else {
		w.jobs[v.last].next = j
	}
	v.last = j
	v.inFlight++
	w.book.flight(int(i), v.inFlight)
	return j
}

// drop takes a job out of its server's list, and gives its worker the next one. The job's place is free then.
func (w *world) drop(j int32) {
	jb := &w.jobs[j]
	v := &w.servers[jb.server]
	if jb.prev == none {
		v.first = jb.next
	} else {
		w.jobs[jb.prev].next = jb.next
	}
	if jb.next == none {
		v.last = jb.prev
	} else {
		w.jobs[jb.next].prev = jb.prev
	}
	v.inFlight--
	if !jb.waiting {
		v.busy--
	}
	server := jb.server
	*jb = job{gen: jb.gen + 1, call: none}
	w.freeJobs = append(w.freeJobs, j)
	w.nextInLine(server)
}

// nextInLine gives free workers the jobs that wait longest.
func (w *world) nextInLine(i int32) {
	v := &w.servers[i]
	if v.spec.Workers == 0 || v.inFlight == v.busy {
		return
	}
	for j := v.first; j != none && v.busy < v.spec.Workers; {
		next := w.jobs[j].next
		if w.jobs[j].waiting {
			sky := w.sky(i)
			outcome, latency := w.draw(sky)
			w.work(j, outcome, latency, sky.hung)
		}
		j = next
	}
}

// endJob is the end of an instance's work.
func (w *world) endJob(j int32) {
	jb := &w.jobs[j]
	call, server, outcome, latency := jb.call, jb.server, jb.outcome, w.now-jb.begun
	jb.entry.End(judge(outcome))
	w.drop(j)
	if call != none {
		w.tried(call, server, outcome, latency, false)
	}
}

// timeOut is the end of a client's patience. The instance does not notice and works on; if it hangs, the connection is closed.
func (w *world) timeOut(j int32) {
	jb := &w.jobs[j]
	call, server, latency := jb.call, jb.server, w.now-jb.begun
	if call == none {
		return
	}
	jb.call = none
	if jb.hung {
		jb.entry.End(cordon.Failure)
		w.drop(j)
	}
	w.tried(call, server, isolation.Failure, latency, true)
}

// cut loses all that a server has in flight.
func (w *world) cut(i int32) {
	v := &w.servers[i]
	type lost struct {
		call    int32
		latency time.Duration
	}
	var calls []lost
	for j := v.first; j != none; {
		jb := &w.jobs[j]
		next := jb.next
		if jb.call != none {
			calls = append(calls, lost{jb.call, w.now - jb.begun})
		}
		jb.entry.End(cordon.Failure)
		*jb = job{gen: jb.gen + 1, call: none}
		w.freeJobs = append(w.freeJobs, j)
		j = next
	}
	v.first, v.last, v.inFlight, v.busy = none, none, 0, 0
	for _, c := range calls {
		w.tried(c.call, i, isolation.Failure, c.latency, false)
	}
}

// capacitySeconds is the time over which calls are averaged before an instance collapses, and finds back.
const capacitySeconds = 5

// overloaded counts a try, and reports whether there are too many.
func (w *world) overloaded(i int32) bool {
	v := &w.servers[i]
	v.rate = v.rate*math.Exp(-(w.now-v.ratedAt).Seconds()/capacitySeconds) + 1./capacitySeconds
	v.ratedAt = w.now
	switch {
	case !v.collapsed && v.rate > v.spec.Capacity:
		v.collapsed = true
		w.ail(i, +1)
	case v.collapsed && v.rate < .9*v.spec.Capacity:
		v.collapsed = false
		w.ail(i, -1)
	}
	return v.collapsed
}

// judge says what an engine makes of an outcome.
func judge(o isolation.Outcome) cordon.Outcome {
	if o == isolation.Success {
		return cordon.Success
	}
	return cordon.Failure
}
