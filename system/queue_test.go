package system

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// A queueing process in virtual time: so many servers, one queue, calls that nobody waits for after their deadline, and a guard in front. It reads its own CPU: the share of servers that were busy within the last second.
type queueing struct {
	servers  int
	service  func(r *rand.Rand) time.Duration
	deadline time.Duration
	rate     func(at time.Duration) float64 // of arrivals, per second
	guard    *Guard

	random  *rand.Rand
	now     time.Duration
	events  events
	queue   []*visit
	busy    int
	worked  time.Duration // of all servers
	counted time.Duration // up to when worked is
	past    []worked
	done    func(at, latency time.Duration) // a call that somebody still waited for
	refused func(at time.Duration)
}

type worked struct{ at, work time.Duration }

type visit struct{ came, dies time.Duration }

type event struct {
	at    time.Duration
	visit *visit // whose service ends; nil for an arrival
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// exponential returns service times around a mean.
func exponential(mean time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(mean)) }
}

// CPU implements Reader.
func (q *queueing) CPU(now time.Duration) (float64, bool) {
	q.work()
	q.past = append(q.past, worked{q.now, q.worked})
	for len(q.past) > 2 && now-q.past[1].at >= time.Second {
		q.past = q.past[1:]
	}
	base := q.past[0]
	if now == base.at {
		return 0, false
	}
	return float64(q.worked-base.work) / float64(now-base.at) / float64(q.servers), true
}

// Load implements Reader.
func (q *queueing) Load() (float64, bool) { return float64(q.busy + len(q.queue)), true }

func (q *queueing) work() {
	q.worked += time.Duration(q.busy) * (q.now - q.counted)
	q.counted = q.now
}

// run runs until a time.
func (q *queueing) run(seed uint64, until time.Duration) {
	q.random = rand.New(rand.NewPCG(seed, 1))
	q.arrive()
	for q.now < until {
		e := heap.Pop(&q.events).(event)
		q.work()
		q.now = e.at
		q.work()
		if e.visit == nil {
			q.arrive()
			q.come()
			continue
		}
		q.busy--
		q.leave(e.visit)
		q.next()
	}
}

func (q *queueing) arrive() {
	gap := time.Duration(q.random.ExpFloat64() / q.rate(q.now) * float64(time.Second))
	heap.Push(&q.events, event{at: q.now + gap})
}

func (q *queueing) come() {
	if q.guard != nil {
		if _, _, ok := q.guard.Enter(q.now, 1); !ok {
			if q.refused != nil {
				q.refused(q.now)
			}
			return
		}
	}
	q.queue = append(q.queue, &visit{q.now, q.now + q.deadline})
	q.next()
}

// next serves the next call in the queue that somebody still waits for.
func (q *queueing) next() {
	for q.busy < q.servers && len(q.queue) > 0 {
		v := q.queue[0]
		q.queue = q.queue[1:]
		if v.dies < q.now {
			q.leave(v)
			continue
		}
		q.busy++
		heap.Push(&q.events, event{q.now + q.service(q.random), v})
	}
}

func (q *queueing) leave(v *visit) {
	if q.guard != nil {
		q.guard.Exit(q.now, 1, q.now-v.came)
	}
	if q.now <= v.dies && q.done != nil {
		q.done(q.now, q.now-v.came)
	}
}
