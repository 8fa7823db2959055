package isolation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// quit begins a call to instance i now and ends it after some time, as calls that overlap with others do.
func (p *play) quit(i int, after time.Duration, o Outcome) bool {
	p.t.Helper()
	p.g.View(p.now)
	c, ok := p.member(i).Begin(p.now)
	if ok {
		c.End(p.now+after, o)
	}
	return ok
}

func TestWhatAnAbandonedCallCountsAs(t *testing.T) {
	p := newPlay(t, Rule{}, 5)
	call := func(i int) *Call {
		c, ok := p.member(i).Begin(p.now)
		require.True(t, ok)
		return &c
	}
	require.Equal(t, Ignored, call(0).Counts(p.now+time.Hour, Abandoned), "nobody knows how long it takes")
	p.quit(0, 0, Success)
	require.Equal(t, Ignored, call(0).Counts(p.now+time.Hour, Abandoned), "a mean of no time at all says as little")
	p.quit(1, 20*ms, Success)
	p.quit(2, 300*ms, Success)
	for _, x := range []struct {
		instance int
		waited   time.Duration
		want     Outcome
	}{
		{1, 0, Ignored}, {1, -sec, Ignored}, {1, 200 * ms, Ignored}, {1, sec - 1, Ignored}, {1, sec, Failure}, {1, time.Hour, Failure},
		{2, sec, Ignored}, {2, 3*sec - 1, Ignored}, {2, 3 * sec, Failure},
	} {
		require.Equal(t, x.want, call(x.instance).Counts(p.now+x.waited, Abandoned), "instance %d, %v", x.instance, x.waited)
	}
	for o := Success; o <= Ignored; o++ {
		require.Equal(t, o, call(1).Counts(p.now+time.Hour, o))
	}
	require.Equal(t, Ignored, call(1).Counts(p.now+time.Hour, Outcome(77)))
	require.Equal(t, Ignored, new(Call).Counts(time.Hour, Abandoned))
}

func TestWhatIsNoOutcomeIsIgnored(t *testing.T) {
	p := newPlay(t, Rule{}, 5)
	require.True(t, p.call(0, Outcome(77)))
	s := p.g.Snapshot(p.now).Instances[0]
	require.Zero(t, s.Calls)
	require.Zero(t, s.Failures)
	require.Zero(t, s.InFlight)
	require.Equal(t, "outcome(77)", Outcome(77).String())
	require.Equal(t, "abandoned", Abandoned.String())
}

func TestLatencyIsThatOfSuccesses(t *testing.T) {
	p := newPlay(t, Rule{}, 5)
	p.quit(0, 20*ms, Success)
	for _, o := range []Outcome{Failure, Throttled, LocalError, Ignored, Abandoned} {
		p.quit(0, 10*sec, o)
		p.quit(0, 0, o)
	}
	require.Equal(t, 20*ms, p.g.Snapshot(p.now).Instances[0].Latency, "an instance that hangs does not become a slow one by it")
}

func TestAHangingInstanceIsFoundByCallersThatGiveUp(t *testing.T) {
	p := newPlay(t, Rule{}, 5)
	rounds := func(n int, hung time.Duration) {
		for range n {
			p.now += 10 * ms
			for i := range p.n {
				if i == 0 && hung > 0 {
					p.quit(i, hung, Abandoned)
				} else {
					p.quit(i, 20*ms, Success)
				}
			}
		}
	}
	rounds(200, 0)
	rounds(500, sec-ms)
	require.Empty(t, p.events, "callers that give up sooner than that say nothing of it")
	rounds(500, sec)
	require.Equal(t, Quarantined, p.state(0))
	require.Len(t, p.events, 1)
	require.Equal(t, "peers", p.events[0].Evidence.Criterion)

	p.till(p.member(0).until)
	require.Equal(t, Probing, p.state(0))
	require.True(t, p.quit(0, 500*ms, Abandoned))
	p.wait(sec)
	require.Equal(t, Probing, p.state(0), "it decides no probe")
	require.True(t, p.quit(0, sec, Abandoned))
	require.Equal(t, Quarantined, p.state(0), "as a failure it does")
}

func TestCallersThatGiveUpEverywhereTakeNobodyOut(t *testing.T) {
	p := newPlay(t, Rule{}, 5)
	for n := range 2000 {
		p.now += 10 * ms
		for i := range p.n {
			if n > 100 && (n+i)%2 == 0 {
				p.quit(i, 5*sec, Abandoned)
			} else {
				p.quit(i, 20*ms, Success)
			}
		}
	}
	require.Empty(t, p.events)
}
