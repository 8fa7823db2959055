package isolation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/clock"
)

// A check that succeeds ends the wait once Base is over, and never the quarantine: probes decide.
func TestCheckedShortensTheWait(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	p.sicken(0)
	e := p.failProbe(0)
	require.InDelta(t, 10*sec, lasts(t, e), 1)
	require.Equal(t, []string{address(0)}, p.g.Waiting(p.now, nil))
	p.wait(sec)
	require.True(t, p.g.Checked(p.now, address(0)))
	require.False(t, p.g.Checked(p.now, address(0)), "it is no shorter for being said twice")
	require.Empty(t, p.g.Waiting(p.now, nil))
	p.till(e.At + 5*sec - 1)
	require.Equal(t, Quarantined, p.state(0))
	p.wait(1)
	require.Equal(t, Probing, p.state(0))
	require.True(t, p.call(0, Failure))
	require.InDelta(t, 20*sec, lasts(t, p.events[len(p.events)-1]), 1, "a failed probe is a strike all the same")
	p.wait(7 * sec)
	require.True(t, p.g.Checked(p.now, address(0)))
	p.g.Tick(p.now)
	require.Equal(t, Probing, p.state(0), "Base is over: at once")
}

// For others it does nothing.
func TestCheckedOfOthers(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	require.False(t, p.g.Checked(p.now, "nobody"))
	require.False(t, p.g.Checked(p.now, address(0)), "it is in service")
	p.sicken(0)
	require.False(t, p.g.Checked(p.now, address(0)), "the first quarantine is Base")
	p.till(p.member(0).until)
	require.False(t, p.g.Checked(p.now, address(0)), "it is probed")
	require.NoError(t, p.g.Pin(p.now, address(0), false, 0))
	require.False(t, p.g.Checked(p.now, address(0)), "it is out by hand")
	require.Equal(t, []string{"x"}, p.g.Waiting(p.now, []string{"x"}))
}

// RunChecks asks about those who wait, every so often, and an answer never ends a quarantine alone.
func TestRunChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, Rule{Jitter: still}, 5)
		p.sicken(0)
		p.failProbe(0)
		e := p.failProbe(0)
		require.InDelta(t, 20*sec, lasts(t, e), 1)
		clk := clock.NewManual()
		clk.Advance(p.now)
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		answer := errors.New("refused")
		go p.g.RunChecks(ctx, clk, sec, func(_ context.Context, at string) error {
			asked++
			require.Equal(t, address(0), at)
			return answer
		})
		synctest.Wait()
		require.Equal(t, 1, asked)
		require.Equal(t, e.Until, p.until(0), "an error changes nothing")
		answer = nil
		clk.Advance(sec)
		synctest.Wait()
		require.Equal(t, 2, asked)
		require.Equal(t, e.At+5*sec, p.until(0))
		for range 30 {
			clk.Advance(sec)
			synctest.Wait()
		}
		require.Equal(t, 2, asked, "nobody waits any more: no question")
		p.now = clk.Now()
		require.Equal(t, Probing, p.state(0), "only calls bring it back")
		cancel()
		synctest.Wait()
		require.Zero(t, clk.Waiters(), "no timer is left behind")
	})
}

func (p *play) until(i int) time.Duration {
	w, _ := p.g.Why(p.now, address(i))
	return w.Until
}

// A check gets no more time than the pause between two rounds, and there is none after the end. A pause of nothing is no busy loop.
func TestRunChecksLimitsEachCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, Rule{Jitter: still, MaxShare: .9, NoFallback: true, PeersNoisy: 1}, 5)
		p.sicken(0, 1)
		p.sicken(1, 0)
		p.failProbe(0)
		p.failProbe(1)
		clk := clock.NewManual()
		clk.Advance(p.now)
		ctx, cancel := context.WithCancel(t.Context())
		var asked []string
		go p.g.RunChecks(ctx, clk, 0, func(ctx context.Context, at string) error {
			asked = append(asked, at)
			<-ctx.Done()
			return ctx.Err()
		})
		for range 3 {
			synctest.Wait()
			clk.Advance(ms)
		}
		synctest.Wait()
		require.Equal(t, []string{address(0), address(1), address(0), address(1)}, asked)
		cancel()
		synctest.Wait()
		require.Len(t, asked, 4, "none after the end")
		require.Zero(t, clk.Waiters())
	})
}

func TestRunChecksWithoutAClock(t *testing.T) {
	t.Parallel()
	const want = "isolation: RunChecks: there is no clock, or no check; want the clock whose readings the group is given, and what asks an instance"
	p := newPlay(t, Rule{}, 3)
	require.PanicsWithValue(t, want, func() {
		p.g.RunChecks(t.Context(), nil, sec, func(context.Context, string) error { return nil })
	})
	require.PanicsWithValue(t, want, func() { p.g.RunChecks(t.Context(), clock.NewManual(), sec, nil) })
}
