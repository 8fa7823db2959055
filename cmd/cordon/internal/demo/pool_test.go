package demo

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/isolation"
)

// newPoolBooks returns a stage with a pool without servers or traffic: books to be filled by hand and judged.
func newPoolBooks(t *testing.T) (*stage, *bytes.Buffer) {
	t.Helper()
	s, out := newBooks()
	s.clock = clock.NewManual()
	s.stock = &pool{}
	for _, name := range []string{"stock-1", "stock-2", "stock-3", "stock-4", "stock-5"} {
		s.stock.instances = append(s.stock.instances, newUpstream(name, s.clock))
	}
	group, err := isolation.NewGroup(poolName, isolation.Config{Rule: &isolation.Rule{}})
	require.NoError(t, err)
	require.NoError(t, s.stock.connect(s.clock, group))
	return s, out
}

// startTestPool starts a pool whose guarded caller follows the demo's rule, with events kept in a journal.
func startTestPool(t *testing.T) (*pool, *journal) {
	t.Helper()
	clk := clock.System()
	p, err := startPool(clk)
	require.NoError(t, err)
	j := newJournal(clk)
	engine, err := cordon.New(cordon.WithClock(clk), cordon.WithObserver(j.observer()))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, p.close(context.Background()))
		require.NoError(t, engine.Close())
	})
	d, err := cordon.Native("rules.yaml", []byte(rules{200, 0.5, 20, 50, 10, time.Second}.document()))
	require.NoError(t, err)
	_, err = engine.Apply(d.Rules)
	require.NoError(t, err)
	require.NoError(t, p.connect(clk, engine.NewGroup(poolName)))
	return p, j
}

// The comparison is a fair one: both callers send to the same instances, and only the rule makes the difference.
func TestOnlyTheGuardedCallerLeavesTheSickInstance(t *testing.T) {
	p, j := startTestPool(t)
	sick := p.instances[2]
	for range 50 {
		send(p.guarded.load)
		send(p.plain.load)
	}
	require.Equal(t, comparison{guarded: ratio{0, 50}, plain: ratio{0, 50}}, p.tallies())
	shares, calls := p.shares(0, clock.System().Now()+time.Hour)
	require.Equal(t, 50, calls)
	require.Equal(t, []float64{.2, .2, .2, .2, .2}, shares)

	sick.failing.Store(true)
	for range 150 {
		send(p.guarded.load)
		send(p.plain.load)
	}
	decided := j.decided(poolName, 0)
	require.NotEmpty(t, decided)
	require.Equal(t, isolation.EventQuarantined, decided[0].Kind)
	require.Equal(t, sick.name, decided[0].Address)
	require.Empty(t, j.decided(poolName, len(decided)))
	books := p.tallies()
	require.Equal(t, ratio{30, 200}, books.plain)
	require.Less(t, books.guarded.failed, int64(outAfter))
	require.Zero(t, books.lost)
	require.Len(t, sick.arrived(plainCaller), 40)
	require.Equal(t, len(sick.arrived(guardedCaller)), len(p.guarded.picked(sick.name)))
	require.Empty(t, sick.arrived(""))
}

func TestACallThatGetsNoAnswerIsAFailureOfTheInstance(t *testing.T) {
	p, j := startTestPool(t)
	require.NoError(t, p.instances[0].close(context.Background()))
	for range 150 {
		send(p.guarded.load)
	}
	decided := j.decided(poolName, 0)
	require.NotEmpty(t, decided)
	require.Equal(t, "stock-1", decided[0].Address)
	require.Equal(t, decided[0].Evidence.Failures, p.tallies().lost)
	require.NotEmpty(t, p.why())
}

func TestAnInstanceFallsIllAndGetsWellAtAWord(t *testing.T) {
	u := startTestUpstream(t)
	client := newClient(newTransport())
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		word         string
		status       int
		failingAfter bool
	}{{"/ill", http.StatusOK, true}, {"/dead", http.StatusNotFound, true}, {"/well", http.StatusOK, false}} {
		response, err := client.Post(u.url()+c.word, "", nil)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, c.status, response.StatusCode)
		require.Equal(t, c.failingAfter, u.failing.Load())
	}
	require.Empty(t, u.arrived(""), "words are no calls")
}

func TestThePoolIsShownAsTheGuardedCallerSeesIt(t *testing.T) {
	s, _ := newPoolBooks(t)
	now := s.clock.(*clock.Manual)
	sick := s.stock.instances[2].name
	group := s.stock.guarded.group
	for group.Snapshot(now.Now()).Out == 0 {
		now.Advance(time.Millisecond)
		for _, u := range s.stock.instances {
			outcome := isolation.Success
			if u.name == sick {
				outcome = isolation.Failure
			}
			require.True(t, group.Report(now.Now(), u.name, outcome, 0))
		}
	}
	for i, u := range s.stock.instances {
		s.stock.guarded.books[u.name].Sent = int64(25 * min(1, (i-2)*(i-2)))
		s.stock.plain.books[u.name].Failed = int64(20 * max(0, 1-(i-2)*(i-2)))
	}
	now.Advance(time.Second - now.Now())
	require.Regexp(t, `^stock  1: 25%       2: 25%       3: out \d\.\ds  4: 25%       5: 25%        0/s failed, 20/s without the rule$`, s.poolLine())

	table := s.poolTable()
	require.Len(t, table, poolSize+2)
	require.Regexp(t, `^   stock-1     25% ▕██████      ▏      0/s          0/s  in service$`, table[1])
	require.Regexp(t, `^   stock-3      0% ▕            ▏      0/s         20/s  quarantined, \d\.\d s left$`, table[3])
	require.Equal(t, "   all       100/s                     0/s         20/s", table[6])
	for _, line := range table {
		require.LessOrEqual(t, screen.Columns(line), 80)
	}

	now.Advance(time.Minute)
	require.Contains(t, s.poolLine(), "3: probed")
	require.NotContains(t, s.poolLine(), "isolation is off")

	for !group.Snapshot(now.Now()).Fallback {
		now.Advance(time.Millisecond)
		for _, u := range s.stock.instances[:4] {
			group.Report(now.Now(), u.name, isolation.Failure, 0)
		}
		group.Report(now.Now(), "stock-5", isolation.Success, 0)
	}
	require.True(t, strings.HasSuffix(s.poolLine(), "   isolation is off"), s.poolLine())
	require.True(t, strings.HasSuffix(s.poolTable()[6], "  isolation is off"), s.poolTable())
}

func TestJudgeOutInTime(t *testing.T) {
	for name, c := range map[string]struct {
		calls      int64
		at, heldUp time.Duration
		held       bool
	}{
		"soon":                          {9, 300 * time.Millisecond, 0, true},
		"after too many calls":          {outAfter + 1, 300 * time.Millisecond, 0, false},
		"too late":                      {9, 3 * time.Second, 0, false},
		"late on a machine held up":     {outAfter + 1, 3 * time.Second, 1500 * time.Millisecond, true},
		"later than that explains":      {9, 4 * time.Second, 1500 * time.Millisecond, false},
		"more calls than that explains": {200, 3 * time.Second, 1500 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newPoolBooks(t)
			s.stock.guarded.load.heldUp.Store(int64(time.Minute))
			ill := s.fail(s.stock.instances[2])
			s.stock.guarded.load.heldUp.Add(int64(c.heldUp))
			e := isolation.Event{At: ill.at + c.at, Evidence: isolation.Evidence{Calls: c.calls}}
			held, took := s.outInTime(ill, e)
			require.Equal(t, c.held, held)
			require.Equal(t, c.heldUp > 0, strings.Contains(took, "held up by 1.50 s"), took)
		})
	}
}

// What is quarantined gets no call until its time is over.
func TestJudgeQuarantineFindsCallsSentAndTimesCutShort(t *testing.T) {
	out := isolation.Event{At: 10 * time.Second, Until: 11 * time.Second}
	for name, c := range map[string]struct {
		picked  []time.Duration
		probing time.Duration
		held    bool
	}{
		"nothing sent":      {[]time.Duration{9 * time.Second, 10*time.Second + straggle/2, 11 * time.Second}, 11 * time.Second, true},
		"one sent":          {[]time.Duration{10500 * time.Millisecond}, 11 * time.Second, false},
		"the time cut":      {nil, 10900 * time.Millisecond, false},
		"probed a bit late": {nil, 11200 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newPoolBooks(t)
			u := s.stock.instances[2]
			s.stock.guarded.picks[u.name] = c.picked
			s.judgeQuarantine(u, out, isolation.Event{At: c.probing})
			require.Equal(t, c.held, len(s.summary.Broken()) == 0)
		})
	}
}

// A quarantine that is not doubled at every strike is seen (faults #47).
func TestJudgeDoubling(t *testing.T) {
	spell := func(seconds float64) isolation.Event {
		return isolation.Event{At: time.Hour, Until: time.Hour + time.Duration(seconds*float64(time.Second))}
	}
	for name, c := range map[string]struct {
		spells []isolation.Event
		held   bool
	}{
		"doubled, with jitter": {[]isolation.Event{spell(1.04), spell(1.91), spell(4.19)}, true},
		"not doubled":          {[]isolation.Event{spell(1), spell(1), spell(1)}, false},
		"doubled once":         {[]isolation.Event{spell(1), spell(2), spell(2)}, false},
		"too much":             {[]isolation.Event{spell(1), spell(2), spell(8)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := newPoolBooks(t)
			s.judgeDoubling(c.spells)
			require.Equal(t, c.held, len(s.summary.Broken()) == 0, out.String())
		})
	}
}

func TestJudgeGrowth(t *testing.T) {
	const from, whole, end = 10 * time.Second, 12 * time.Second, 13 * time.Second
	ms := time.Millisecond
	for name, c := range map[string]struct {
		sick  []time.Duration
		whole time.Duration
		held  bool
	}{
		"grows":            {append(append(evenly(from, 60*ms, 16), evenly(11*time.Second, 30*ms, 33)...), evenly(whole, 25*ms, 40)...), whole, true},
		"all at once":      {evenly(from, 25*ms, 120), whole, false},
		"never":            {nil, whole, false},
		"falls":            {append(append(evenly(from, 30*ms, 33), evenly(11*time.Second, 60*ms, 16)...), evenly(whole, 25*ms, 40)...), whole, false},
		"stays small":      {append(evenly(from, 60*ms, 16), evenly(11*time.Second, 50*ms, 40)...), whole, false},
		"sooner than said": {append(append(evenly(from, 60*ms, 8), evenly(10500*ms, 30*ms, 16)...), evenly(11*time.Second, 25*ms, 80)...), 11 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := newPoolBooks(t)
			s.clock.(*clock.Manual).Advance(end)
			for i, u := range s.stock.instances {
				times := evenly(from, 25*ms, 120)
				if i == 2 {
					times = c.sick
				}
				s.stock.guarded.picks[u.name] = times
			}
			s.judgeGrowth(s.stock.instances[2], from, c.whole)
			require.Equal(t, c.held, len(s.summary.Broken()) == 0, out.String())
		})
	}
}

func TestJudgeAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		lost            int64
		picked, arrived int
		held            bool
	}{
		"all":                    {0, 3, 3, true},
		"one without an answer":  {1, 3, 3, false},
		"one went elsewhere":     {0, 3, 2, false},
		"one came twice":         {0, 3, 4, false},
		"nothing sent, one came": {0, 0, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newPoolBooks(t)
			u := s.stock.instances[1]
			s.stock.plain.picks[u.name] = evenly(0, 1, c.picked)
			u.arrivals[plainCaller] = evenly(1, 1, c.arrived)
			s.judgeAnswered(comparison{lost: c.lost})
			require.Equal(t, c.held, len(s.summary.Broken()) == 0)
		})
	}
}

func TestJudgeOthers(t *testing.T) {
	s, _ := newPoolBooks(t)
	s.journal.decisions[poolName] = []isolation.Event{{Address: "stock-3"}}
	s.judgeOthers("stock-3")
	require.Empty(t, s.summary.Broken())
	s.journal.decisions[poolName] = append(s.journal.decisions[poolName], isolation.Event{Address: "stock-1"})
	s.judgeOthers("stock-3")
	require.Len(t, s.summary.Broken(), 1)
}

// faults #51: in a fallback calls flow to all; nobody is stormed after it.
func TestJudgeReachedAndReturn(t *testing.T) {
	const from, to = time.Second, 3 * time.Second
	even := evenly(from, 25*time.Millisecond, 80)
	for name, c := range map[string]struct {
		first           []time.Duration
		reached, calmly bool
	}{
		"even":    {even, true, true},
		"none":    {nil, false, true},
		"stormed": {append(evenly(from, 25*time.Millisecond, 40), evenly(2*time.Second, 10*time.Millisecond, 100)...), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := newPoolBooks(t)
			for i, u := range s.stock.instances {
				s.stock.guarded.picks[u.name] = even
				if i == 0 {
					s.stock.guarded.picks[u.name] = c.first
				}
			}
			s.judgeReached(from, to)
			require.Equal(t, c.reached, len(s.summary.Broken()) == 0, out.String())
			s.summary.Findings = nil
			s.judgeReturn(from, to)
			require.Equal(t, c.calmly, len(s.summary.Broken()) == 0, out.String())
		})
	}

	s, _ := newPoolBooks(t)
	s.judgeReached(from, to)
	s.judgeReturn(from, to)
	require.Len(t, s.summary.Broken(), 2, "without calls nothing was shown")
}

func TestDecisionsAreShownInOrderUpToTheOneWaitedFor(t *testing.T) {
	s, out := newPoolBooks(t)
	s.clock = clock.System()
	s.journal.decisions[poolName] = []isolation.Event{{Address: "stock-9", Kind: isolation.EventPinned, Reason: "long ago"}}
	w := s.watch()
	s.journal.decisions[poolName] = append(s.journal.decisions[poolName],
		isolation.Event{Address: "stock-2", Kind: isolation.EventQuarantined, At: time.Second, Until: 3 * time.Second, Reason: "9 of 9 calls failed"},
		isolation.Event{Kind: isolation.EventFallbackOn, Reason: "4 of 5 are sick"},
		isolation.Event{Address: "stock-2", Kind: isolation.EventProbing, Reason: "later"})
	e, err := w.until(t.Context(), isolation.EventFallbackOn, "")
	require.NoError(t, err)
	require.Equal(t, "4 of 5 are sick", e.Reason)
	require.Regexp(t, `stock-2 quarantined for 2\.00 s: 9 of 9 calls failed\n.*fallback on: 4 of 5 are sick\n$`, out.String())
	require.NotContains(t, out.String(), "long ago")
	require.NotContains(t, out.String(), "later")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.until(ctx, isolation.EventInService, "stock-2")
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, out.String(), "later")
}
