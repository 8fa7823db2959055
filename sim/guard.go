package sim

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
)

// waits reports whether a rule can make calls wait.
func (g *Guard) waits() bool {
	if g == nil {
		return false
	}
	for i := range g.Rules.Flow {
		if r := &g.Rules.Flow[i]; r.MaxWait > 0 && !r.Shadow {
			return true
		}
	}
	return g.queues() > 0
}

// queues counts the rules that make calls wait in line.
func (g *Guard) queues() int {
	n := 0
	for i := range g.Rules.Concurrency {
		if r := &g.Rules.Concurrency[i]; r.MaxWait > 0 && !r.Shadow {
			n++
		}
	}
	return n
}

// guardian is a guard at work. The engine is the real one, and where it makes a call wait it blocks a goroutine; but only one goroutine ever runs:
// the kit lets a call that may wait enter in its own one, and goes on when that has ended or says that it is going to sleep, which it
// does by asking for a timer. Calls that wait for their turn wake by their timer. Those that wait in line also wake when a call that
// ends hands its place on; since at most one rule has a line and calls count one each, that is at most one at a time, and shows in the line's length.
type guardian struct {
	engine *cordon.Engine
	origin string
	clk    *virtualClock // nil if no rule makes calls wait
	// What follows is nil or zero if no rule makes calls wait.
	resources []string
	ctx       context.Context
	cancel    context.CancelFunc
	signals   chan signal
	asleep    int
	// inLine is how many of those are in line. One that was woken and goes to sleep again looks at it while the kit waits for it.
	inLine atomic.Int64
}

// signal says that the goroutine that enters a call has ended, with what came of it, or has gone to sleep.
type signal struct {
	asleep bool
	call   int32
	entry  cordon.Entry
	err    error
}

func newGuardian(g *Guard, w *world, origin string, resources []string) (*guardian, error) {
	p := &guardian{origin: origin, clk: &virtualClock{world: w}}
	if g.waits() {
		if g.queues() > 1 {
			return nil, errors.New("more than one concurrency rule with maxWait; want one: who wakes whom would be left to chance")
		}
		p.resources = resources
		p.signals = make(chan signal)
		p.ctx, p.cancel = context.WithCancel(context.Background())
		p.clk.sleeper = p
	}
	options := append(append([]cordon.Option(nil), g.Options...), cordon.WithClock(p.clk), cordon.WithRules(g.Rules))
	engine, err := cordon.New(options...)
	if err != nil {
		return nil, err
	}
	p.engine = engine
	return p, nil
}

// enter asks for a call. It reports false if the call waits: then wake or ended tell later what came of it.
func (p *guardian) enter(call int32, resource string) (s signal, ok bool) {
	if p.signals == nil {
		ent, err := p.engine.Enter(context.Background(), cordon.Request{Resource: resource, Origin: p.origin})
		return signal{entry: ent, err: err}, true
	}
	go func() {
		ent, err := p.engine.Enter(p.ctx, cordon.Request{Resource: resource, Origin: p.origin})
		p.signals <- signal{call: call, entry: ent, err: err}
	}()
	s = <-p.signals
	if s.asleep {
		p.asleep++
		p.inLine.Store(int64(p.queued()))
	}
	return s, !s.asleep
}

// end ends a call, and hands what came of one that it woke to admitted.
func (p *guardian) end(ent *cordon.Entry, outcome cordon.Outcome, admitted func(signal)) {
	ent.End(outcome)
	if p.inLine.Load() > 0 {
		p.settle(admitted)
	}
}

// wake lets a sleeper's timer fire.
func (p *guardian) wake(t *virtualTimer, admitted func(signal)) {
	if t.over {
		return
	}
	t.over = true
	if t.inLine {
		p.inLine.Add(-1)
	}
	t.c <- t.due
	p.await(admitted)
	p.settle(admitted)
}

// settle waits for those who were handed a place in line.
func (p *guardian) settle(admitted func(signal)) {
	for int64(p.queued()) < p.inLine.Load() {
		p.inLine.Add(-1)
		p.await(admitted)
	}
}

// await waits for what a sleeper that was woken does next.
func (p *guardian) await(admitted func(signal)) {
	if s := <-p.signals; !s.asleep { // else it sleeps on, for its turn
		p.asleep--
		admitted(s)
	}
}

// queued returns how many calls wait in line.
func (p *guardian) queued() int {
	n := 0
	shared := map[string]bool{}
	for _, name := range p.resources {
		snap, _ := p.engine.ResourceSnapshot(name)
		for i := range snap.Rules {
			if r := &snap.Rules[i]; r.Queued > 0 && !shared[r.ID] {
				n += r.Queued
				shared[r.ID] = p.sharesBudget(r.ID)
			}
		}
	}
	return n
}

// sharesBudget reports whether a concurrency rule has one line for all its resources.
func (p *guardian) sharesBudget(id string) bool {
	for _, r := range p.engine.Rules().Concurrency {
		if r.ID == id {
			return r.Shared
		}
	}
	return false
}

// close ends the engine and all that sleep in it.
func (p *guardian) close() {
	if p.signals != nil {
		p.cancel()
		for ; p.asleep > 0; p.asleep-- {
			<-p.signals
		}
	}
	p.engine.Close()
}

// virtualClock is the world's time as a clock.
type virtualClock struct {
	world   *world
	sleeper *guardian // whose goroutines sleep by this clock; nil: nobody does
}

// Now returns the virtual time.
func (c *virtualClock) Now() time.Duration { return c.world.now }

// Wall returns midnight of 1 January 2000 UTC plus the reading.
func (c *virtualClock) Wall(reading time.Duration) time.Time {
	return time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).Add(reading)
}

// NewTimer returns a timer, and tells the kit that whoever asks is going to sleep.
func (c *virtualClock) NewTimer(d time.Duration) clock.Timer {
	t := &virtualTimer{c: make(chan time.Duration, 1), due: c.world.now + max(d, 0)}
	if d <= 0 || c.sleeper == nil {
		t.over = true
		t.c <- t.due
		return t
	}
	p := c.sleeper
	t.inLine = int64(p.queued()) > p.inLine.Load()
	c.world.sleepUntil(p, t)
	p.signals <- signal{asleep: true}
	return t
}

// AfterFunc calls f in the run's goroutine, d from now.
func (c *virtualClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &virtualTimer{due: c.world.now + max(d, 0), f: f}
	c.world.sleepUntil(nil, t)
	return t
}

// virtualTimer is a timer of a virtualClock.
type virtualTimer struct {
	c      chan time.Duration
	due    time.Duration
	f      func()
	over   bool // it has fired or was stopped
	inLine bool // whoever made it waits in line
}

func (t *virtualTimer) C() <-chan time.Duration { return t.c }

func (t *virtualTimer) Stop() bool {
	was := t.over
	t.over = true
	return !was
}
