package system

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fake is a reader with readings of one's own.
type fake struct {
	cpu, load     float64
	cpuOK, loadOK bool
	reads         int
	during        func() // something that happens while it reads
}

func (f *fake) CPU(time.Duration) (float64, bool) {
	f.reads++
	if f.during != nil {
		f.during()
	}
	return f.cpu, f.cpuOK
}

func (f *fake) Load() (float64, bool) { return f.load, f.loadOK }

// play is a guard with its time.
type play struct {
	*Guard
	t      *testing.T
	reader *fake
	now    time.Duration
}

func newPlay(t *testing.T, rules ...Rule) *play {
	p := &play{t: t, reader: &fake{cpuOK: true, loadOK: true}, now: time.Minute}
	p.Guard = NewGuard(p.reader)
	p.update(rules...)
	return p
}

func (p *play) update(rules ...Rule) {
	for i := range rules {
		if rules[i].ID == "" {
			rules[i].ID = rules[i].Metric.String()
		}
		require.Empty(p.t, rules[i].Problems())
	}
	p.Update(rules, p.now)
}

// enter asks for a call, and returns the id of the rule that refuses it, or "".
func (p *play) enter() string { return p.cost(1) }

func (p *play) cost(n int) string {
	_, r, ok := p.Enter(p.now, n)
	if !ok {
		return r.Rule.ID
	}
	return ""
}

func (p *play) exit(latency time.Duration) { p.Exit(p.now, 1, latency) }

// call makes a whole call, which ends latency later.
func (p *play) call(latency time.Duration) bool {
	if p.enter() != "" {
		return false
	}
	p.now += latency
	p.exit(latency)
	return true
}

func (p *play) status(id string) RuleStatus {
	for _, r := range p.Status(p.now).Rules {
		if r.Rule.ID == id {
			return r
		}
	}
	p.t.Fatalf("no rule %q", id)
	return RuleStatus{}
}

func TestWithoutRulesAllPass(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	for range 1000 {
		require.Empty(t, p.enter())
	}
	require.EqualValues(t, 1000, p.InFlight())
	require.Zero(t, p.reader.reads, "nothing is read before a rule asks for it")
	p.update(Rule{Metric: Concurrency, Limit: 1}, Rule{Metric: ResponseTime, SlowerThan: time.Second}, Rule{Metric: Rate, Limit: 1})
	p.now += time.Hour
	p.enter()
	require.Zero(t, p.reader.reads)
	s := p.Status(p.now)
	require.Equal(t, -1.0, s.CPU)
	require.Equal(t, -1.0, s.Load)
	p.update(Rule{Metric: Load, Limit: 1})
	p.enter()
	require.Zero(t, p.reader.reads, "only what a rule asks for")
	require.Equal(t, 0.0, p.Status(p.now).Load)
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: Concurrency, Limit: 3}, Rule{ID: "wide", Metric: Concurrency, Limit: 5})
	require.Empty(t, p.cost(2))
	require.Empty(t, p.enter())
	require.Equal(t, "concurrency", p.enter())
	_, r, ok := p.Enter(p.now, 1)
	require.False(t, ok)
	require.Equal(t, 3.0, r.Limit())
	require.Equal(t, 3.0, r.Observed)
	require.Zero(t, r.RetryAfter)
	require.ErrorIs(t, r.Cause(), ErrOverloaded)
	_, r, _ = p.Enter(p.now, 4)
	require.EqualValues(t, -1, r.RetryAfter, "it never fits")
	p.exit(time.Second)
	require.Empty(t, p.enter())
	// An edit keeps what is in flight.
	p.update(Rule{Metric: Concurrency, Limit: 4})
	require.Empty(t, p.enter())
	require.Equal(t, "concurrency", p.enter())
	p.update(Rule{Metric: Concurrency, Limit: 0})
	require.Equal(t, "concurrency", p.enter())
	p.update(Rule{Metric: Concurrency, Limit: 1})
	p.Exit(p.now, 2, 0)
	p.exit(0)
	require.Equal(t, "concurrency", p.enter())
	p.exit(0)
	require.Empty(t, p.enter())
	require.EqualValues(t, 6, p.status("concurrency").Blocked, "counts outlive edits")
}

func TestRate(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: Rate, Limit: 2.9}, Rule{ID: "wide", Metric: Rate, Limit: 10})
	start := p.now
	require.Empty(t, p.enter())
	p.now += 300 * time.Millisecond
	require.Empty(t, p.enter())
	_, r, ok := p.Enter(p.now, 1)
	require.False(t, ok)
	require.Equal(t, 700*time.Millisecond, r.RetryAfter)
	require.Equal(t, 2.9, r.Limit())
	require.Equal(t, 2.0, r.Observed)
	require.EqualValues(t, 2, p.InFlight(), "a call that was refused is not in flight")
	p.now = start + time.Second - 1
	require.Equal(t, "rate", p.enter())
	p.now = start + time.Second
	require.Empty(t, p.enter())
	require.Equal(t, "rate", p.enter())
	// An edit keeps what was admitted; a call that comes with an older reading is decided at the latest one.
	p.update(Rule{Metric: Rate, Limit: 3})
	p.now -= 200 * time.Millisecond
	require.Empty(t, p.enter())
	require.Equal(t, "rate", p.enter())
	_, r, _ = p.Enter(p.now, 4)
	require.EqualValues(t, -1, r.RetryAfter)
	// One call in four seconds.
	p.now += time.Minute
	p.update(Rule{Metric: Rate, Limit: 0.25})
	require.Empty(t, p.enter())
	p.now += 4*time.Second - 1
	require.Equal(t, "rate", p.enter())
	p.now++
	require.Empty(t, p.enter())
	p.update(Rule{Metric: Rate, Limit: 0})
	p.now += time.Hour
	require.Equal(t, "rate", p.enter())
}

func TestCancelGivesBack(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: Rate, Limit: 2}, Rule{Metric: Concurrency, Limit: 2}, Rule{ID: "s", Metric: Rate, Limit: 2, Shadow: true})
	for range 100 {
		permit, _, ok := p.Enter(p.now, 2)
		require.True(t, ok)
		require.False(t, permit.Doubted())
		p.Cancel(2, permit)
		require.Zero(t, p.InFlight())
	}
	require.Empty(t, p.cost(2))
	// Also where the rules were edited meanwhile.
	p.now += time.Minute
	p.Exit(p.now, 2, 0)
	permit, _, ok := p.Enter(p.now, 2)
	require.True(t, ok)
	p.update(Rule{Metric: Rate, Limit: 3})
	p.Cancel(2, permit)
	require.Empty(t, p.cost(3))
	require.Equal(t, "rate", p.enter())
}

func TestResponseTimeLetsGo(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: ResponseTime, SlowerThan: 100 * time.Millisecond})
	for range 10 {
		require.True(t, p.call(100*time.Millisecond), "at the limit all is well, and before anything ended nothing is known")
	}
	for range 10 {
		require.Empty(t, p.enter())
	}
	p.now += 500 * time.Millisecond
	for range 10 {
		p.exit(500 * time.Millisecond)
	}
	p.now += tickEvery
	require.Equal(t, "responseTime", p.enter())
	_, r, _ := p.Enter(p.now, 1)
	require.Equal(t, 0.1, r.Limit())
	require.InDelta(t, 0.4, r.Observed, 0.1)
	require.True(t, p.status("responseTime").Refusing)
	// All is refused, so nothing new ends: after the second that is looked at calls pass again (and no sooner than the refusal said).
	require.LessOrEqual(t, r.RetryAfter, time.Second)
	again := p.now + r.RetryAfter
	for p.now+tickEvery < again {
		p.now += tickEvery
		require.Equal(t, "responseTime", p.enter())
	}
	p.now = again + tickEvery
	require.Empty(t, p.enter())
	require.False(t, p.status("responseTime").Known)
	// Long ago is no news, whoever comes first.
	p.now += time.Second
	p.exit(10 * time.Second)
	p.now += time.Minute
	require.Empty(t, p.enter())
}

// faults #61, #100: response times below a millisecond count, those below 0 do not.
func TestShortResponseTimes(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: ResponseTime, SlowerThan: 500 * time.Microsecond})
	ends := func(latency time.Duration) {
		require.Empty(t, p.enter())
		p.exit(latency)
	}
	ends(300 * time.Microsecond)
	p.now += tickEvery
	require.Equal(t, 300*time.Microsecond, p.Status(p.now).ResponseTime)
	ends(-time.Second)
	p.now += tickEvery
	require.Equal(t, 300*time.Microsecond, p.Status(p.now).ResponseTime)
	ends(1200 * time.Microsecond)
	p.now += tickEvery
	require.Equal(t, 750*time.Microsecond, p.Status(p.now).ResponseTime)
	require.Equal(t, "responseTime", p.enter())
	// They make a capacity: 1000 calls a second of 300 µs are a third of one at a time.
	p = newPlay(t)
	for range 5000 {
		ends(300 * time.Microsecond)
		p.now += time.Millisecond
	}
	require.InDelta(t, 0.3, p.Status(p.now).Capacity, 0.01)
}

func TestCostWeighsResponseTimes(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	require.Empty(t, p.cost(9))
	require.Empty(t, p.enter())
	p.Exit(p.now, 9, 100*time.Millisecond)
	p.exit(1100 * time.Millisecond)
	p.now += tickEvery
	require.Equal(t, 200*time.Millisecond, p.Status(p.now).ResponseTime)
	require.Equal(t, int64(mostSpent), spent(math.MaxInt64, math.MaxInt32))
	require.Equal(t, int64(mostSpent), spent(time.Hour, 1<<30))
	require.EqualValues(t, 7*time.Second, spent(time.Second, 7))
}

func TestReadings(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: CPU, Limit: 0.8, Admission: Refuse}, Rule{Metric: Load, Limit: 4, Admission: Refuse})
	p.reader.cpu, p.reader.load = 0.8, 4
	require.Empty(t, p.enter())
	require.Equal(t, 1, p.reader.reads)
	p.reader.cpu = 0.9
	p.now += readEvery - 1
	require.Empty(t, p.enter(), "read four times a second at most")
	p.now += tickEvery
	require.Equal(t, "cpu", p.enter(), "the call that reads is decided by what it read")
	require.Equal(t, 2, p.reader.reads)
	_, r, _ := p.Enter(p.now, 1)
	require.Equal(t, 0.9, r.Observed)
	require.InDelta(t, readEvery, r.RetryAfter, float64(tickEvery))
	require.InDelta(t, 0.9, p.Status(p.now).CPU, 0)
	p.reader.cpu, p.reader.load = 0.5, 4.5
	p.now += readEvery + tickEvery
	require.Equal(t, "load", p.enter())
	// What cannot be read is unknown, and decides nothing (faults #59). So does nonsense.
	p.reader.loadOK = false
	p.now += readEvery + tickEvery
	require.Empty(t, p.enter())
	require.False(t, p.status("load").Known)
	p.reader.loadOK, p.reader.load, p.reader.cpu = true, -1, math.NaN()
	p.now += readEvery + tickEvery
	require.Empty(t, p.enter())
	require.Equal(t, -1.0, p.Status(p.now).CPU)
	require.Equal(t, -1.0, p.Status(p.now).Load)
	// After a pause the first call reads, before anything is decided by what was.
	p.reader.cpu = 0.99
	p.now += readEvery + tickEvery
	require.Equal(t, "cpu", p.enter())
	p.reader.cpu = 0.1
	p.now += time.Hour
	require.Empty(t, p.enter())
}

func TestReaderThatHangs(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: CPU, Limit: 0.8, Admission: Refuse})
	p.reader.cpu = 0.9
	require.Equal(t, "cpu", p.enter())
	hangs, goOn := make(chan struct{}), make(chan struct{})
	p.reader.during = func() { close(hangs); <-goOn }
	p.now += readEvery + tickEvery
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Enter(p.now, 1) // the call whose turn it is waits, nobody else does
	}()
	<-hangs
	require.Equal(t, "cpu", p.enter(), "by what is known")
	for range 30 {
		p.now += tickEvery
		p.Enter(p.now, 1)
	}
	require.Empty(t, p.enter(), "what is old decides nothing")
	p.reader.during = nil
	close(goOn)
	<-done
	require.Empty(t, p.enter(), "nor does it when it comes late")
	p.now += tickEvery
	require.Equal(t, "cpu", p.enter())
}

func TestReaderThatPanics(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: CPU, Limit: 0.8, Admission: Refuse})
	p.reader.cpu = 0.9
	p.reader.during = func() { panic("reader") }
	require.PanicsWithValue(t, "reader", func() { p.enter() })
	require.Empty(t, p.enter())
	require.Zero(t, p.InFlight()-1, "a call that panicked before it was admitted is not in flight")
	p.reader.during = nil
	p.now += readEvery + tickEvery
	require.Equal(t, "cpu", p.enter())
}

func TestBBR(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: CPU, Limit: 0.8})
	p.reader.cpu = 0.9
	for range 100 {
		require.Empty(t, p.enter(), "nothing has ended yet: nobody knows what the process can do")
	}
	for range 100 {
		p.exit(time.Second)
	}
	// 1000 a second of 10 ms each: ten at once.
	for range 8000 {
		p.now += time.Millisecond
		p.enter()
		p.exit(10 * time.Millisecond)
	}
	require.InDelta(t, 10, p.Status(p.now).Capacity, 1)
	admitted := 0
	for p.enter() == "" {
		admitted++
	}
	require.GreaterOrEqual(t, admitted, 10)
	require.LessOrEqual(t, admitted, 17)
	require.True(t, p.status("cpu").Refusing)
	// As soon as the CPU is well, or nobody knows, all pass.
	p.reader.cpu = 0.5
	p.now += readEvery + tickEvery
	for range 100 {
		require.Empty(t, p.enter())
	}
}

func TestBBRAdmitsOne(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: Load, Limit: 0})
	p.reader.load = 50
	for range 1000 { // one at a time, of 1 µs: a thousandth of one
		p.now += time.Millisecond
		require.Empty(t, p.enter())
		p.exit(time.Microsecond)
	}
	require.Less(t, p.Status(p.now).Capacity, 0.1)
	require.Empty(t, p.cost(1000), "one is admitted always, whatever it costs")
	require.Equal(t, "load", p.enter())
	p.Exit(p.now, 1000, time.Millisecond)
	require.Empty(t, p.enter())
}

// faults #61: what the process can do is not remembered for ever, in either direction.
func TestCapacityFollows(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	run := func(seconds int, perSecond int) {
		for range seconds * perSecond {
			p.now += time.Second / time.Duration(perSecond)
			p.enter()
			p.exit(20 * time.Millisecond)
		}
	}
	run(10, 100)
	require.InDelta(t, 2, p.Status(p.now).Capacity, 0.3)
	run(1, 1000)
	require.InDelta(t, 20, p.Status(p.now).Capacity, 2)
	run(rateSeconds+2, 100)
	require.InDelta(t, 2, p.Status(p.now).Capacity, 0.3)
	// A response time that has grown is known after its window.
	for range (timeSeconds + 3) * 100 {
		p.now += 10 * time.Millisecond
		p.enter()
		p.exit(50 * time.Millisecond)
	}
	require.InDelta(t, 5, p.Status(p.now).Capacity, 0.6)
	// While nothing ends, what it was stays known for a while, and is then forgotten.
	p.now += (rateSeconds + 5) * time.Second
	require.InDelta(t, 5, p.Status(p.now).Capacity, 0.6)
	p.now += (timeSeconds + 5) * time.Second
	require.Zero(t, p.Status(p.now).Capacity)
}

func TestShadow(t *testing.T) {
	t.Parallel()
	p := newPlay(t,
		Rule{ID: "c", Metric: Concurrency, Limit: 2, Shadow: true}, Rule{ID: "r", Metric: Rate, Limit: 3, Shadow: true},
		Rule{ID: "cpu", Metric: CPU, Limit: 0.5, Admission: Refuse, Shadow: true}, Rule{ID: "rt", Metric: ResponseTime, SlowerThan: time.Second, Shadow: true},
		Rule{ID: "bbr", Metric: Load, Limit: 1, Shadow: true})
	p.reader.cpu, p.reader.load = 0.4, 2
	would := func() (ids []string) {
		permit, _, ok := p.Enter(p.now, 1)
		require.True(t, ok)
		for r := range p.Shadowed(permit) {
			ids = append(ids, r.Rule.ID)
			require.ErrorIs(t, r.Cause(), ErrOverloaded)
		}
		require.Equal(t, len(ids) > 0, permit.Doubted())
		return ids
	}
	require.Empty(t, would())
	require.Empty(t, would())
	require.Equal(t, []string{"c"}, would())
	require.Equal(t, []string{"c", "r"}, would())
	p.reader.cpu = 0.6
	p.now += readEvery + tickEvery
	require.Equal(t, []string{"c", "r", "cpu"}, would())
	for range 5 {
		p.exit(2 * time.Second)
	}
	p.now += time.Second
	require.Equal(t, []string{"cpu"}, would(), "what ended was a second ago")
	p.exit(2 * time.Second)
	p.now += tickEvery
	require.Equal(t, []string{"cpu", "rt"}, would())
	p.exit(0)
	for range 1000 {
		p.now += time.Millisecond
		p.Enter(p.now, 1)
		p.exit(10 * time.Millisecond)
	}
	p.now += 2 * time.Second
	require.Equal(t, []string{"cpu"}, would())
	for range 40 {
		p.Enter(p.now, 1)
	}
	require.Contains(t, would(), "bbr")
	require.Positive(t, p.status("r").Shadowed)
	require.Zero(t, p.status("r").Blocked)
	// A rule that refused goes on in shadow by what it had admitted.
	p = newPlay(t, Rule{Metric: Rate, Limit: 2})
	require.Empty(t, p.cost(2))
	require.Equal(t, "rate", p.enter())
	p.update(Rule{Metric: Rate, Limit: 2, Shadow: true})
	require.Equal(t, []string{"rate"}, would())
	require.EqualValues(t, 1, p.status("rate").Blocked)
	require.EqualValues(t, 1, p.status("rate").Shadowed)
	require.Equal(t, 2.0, p.status("rate").Observed)
	// More than can be asked at once are let be.
	var many []Rule
	for i := range 100 {
		many = append(many, Rule{ID: string(rune('A' + i)), Metric: Concurrency, Shadow: true})
	}
	p.update(many...)
	require.Len(t, would(), mostShadows)
}

func TestUpdateKeepsStates(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: CPU, Limit: 0.5, Admission: Refuse}, Rule{Metric: Rate, Limit: 5})
	p.reader.cpu = 0.9
	require.Equal(t, "cpu", p.enter())
	_, r, _ := p.Enter(p.now, 1)
	p.update(Rule{Metric: CPU, Limit: 0.5, Admission: Refuse}, Rule{Metric: Rate, Limit: 6})
	_, again, ok := p.Enter(p.now, 1)
	require.False(t, ok, "no reading is forgotten")
	require.Same(t, r.Rule, again.Rule)
	p.update(Rule{Metric: CPU, Limit: 0.95, Admission: Refuse})
	require.Empty(t, p.enter(), "an edit holds at once")
	p.update(Rule{Metric: CPU, Limit: 0.7, Admission: Refuse})
	require.Equal(t, "cpu", p.enter())
	require.EqualValues(t, 4, p.status("cpu").Blocked)
	p.update()
	require.Empty(t, p.enter(), "a rule that is gone refuses nothing")
	require.Empty(t, p.Status(p.now).Rules)
}

func TestCallsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	p := newPlay(t, Rule{Metric: CPU, Limit: 1}, Rule{Metric: Concurrency, Limit: 10}, Rule{Metric: ResponseTime, SlowerThan: time.Hour}, Rule{Metric: Rate, Limit: 1e7},
		Rule{ID: "s", Metric: Rate, Limit: 3, Shadow: true})
	require.Zero(t, testing.AllocsPerRun(2000, func() {
		permit, _, ok := p.Enter(p.now, 1)
		require.True(t, ok)
		for range p.Shadowed(permit) {
		}
		p.Exit(p.now, 1, time.Millisecond)
		p.now += 10 * time.Millisecond
	}))
	require.Zero(t, testing.AllocsPerRun(2000, func() {
		if _, _, ok := p.Enter(p.now, 11); ok {
			panic("must be refused")
		}
	}))
}

// What calls only read is not in a cache line that calls write.
func TestGuardLayout(t *testing.T) {
	t.Parallel()
	g := NewGuard(&fake{})
	at := func(x any) uintptr {
		switch x := x.(type) {
		case *atomic.Int64:
			return uintptrOf(x)
		case *atomic.Pointer[verdict]:
			return uintptrOf(x)
		}
		panic("what is that?")
	}
	require.GreaterOrEqual(t, at(&g.entered)-at(&g.verdict), uintptr(64))
	require.GreaterOrEqual(t, at(&g.ended)-at(&g.entered), uintptr(64))
}

// Only differences between readings of a clock mean anything: they may be below 0.
func TestReadingsBelowZero(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.now = -time.Hour
	p.update(Rule{Metric: Rate, Limit: 2}, Rule{Metric: CPU, Limit: 0.8}, Rule{Metric: ResponseTime, SlowerThan: time.Minute}, Rule{ID: "trial", Metric: Rate, Limit: 1, Shadow: true})
	for range 3000 {
		first, _, ok := p.Enter(p.now, 1)
		require.True(t, ok)
		p.Cancel(1, first)
		for range 2 {
			_, _, ok := p.Enter(p.now, 1)
			require.True(t, ok)
		}
		require.Equal(t, "rate", p.enter())
		p.exit(time.Millisecond)
		p.exit(time.Millisecond)
		p.now += time.Second
	}
	require.EqualValues(t, 3000, p.status("trial").Shadowed, "the first is given back, and one of the others fits")
	require.Positive(t, p.Status(p.now).Capacity)
	for p.now = -10 * time.Second; p.now < 10*time.Second; p.now += time.Second / 2 { // across 0
		require.Empty(t, p.enter())
		p.exit(time.Millisecond)
	}
	require.Positive(t, p.Status(p.now).Capacity)
}

// A refusal by what was measured says when to come again, also while a reading that was asked for at once is under way.
func TestRetryAfterWhileReading(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Metric: Load, Limit: 4, Admission: Refuse})
	p.reader.load = 5
	require.Equal(t, "load", p.enter())
	asked := false
	p.reader.during = func() { // another call, meanwhile
		asked = true
		_, r, ok := p.Enter(p.now, 1)
		require.False(t, ok)
		require.True(t, r.RetryAfter > 0 && r.RetryAfter <= readEvery, "%v", r.RetryAfter)
	}
	p.update(Rule{Metric: Load, Limit: 4, Admission: Refuse}, Rule{Metric: CPU, Limit: 0.8})
	_, r, ok := p.Enter(p.now, 1)
	require.False(t, ok)
	require.True(t, asked)
	require.True(t, r.RetryAfter > 0 && r.RetryAfter <= readEvery, "%v", r.RetryAfter)
}
