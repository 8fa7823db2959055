package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faults #1, #38: readings come from the monotonic clock, which a step of the wall clock does not move.
// time.Since uses it as long as the origin has its monotonic part.
func TestSystemReadsTheMonotonicClock(t *testing.T) {
	t.Parallel()
	origin := System().(*SystemClock).origin
	require.NotEqual(t, origin.Round(0), origin, "the origin has lost its monotonic part")
}

func TestSystemNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		s := System()
		require.Zero(t, s.Now())
		time.Sleep(1500 * time.Millisecond)
		require.Equal(t, 1500*time.Millisecond, s.Now())
	})
}

func TestSystemWall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := System()
		made := time.Now()
		time.Sleep(time.Minute)
		require.True(t, s.Wall(0).Equal(made))
		require.True(t, s.Wall(s.Now()).Equal(time.Now()))
		require.True(t, s.Wall(s.Now()+time.Hour).Equal(time.Now().Add(time.Hour)))
		require.Equal(t, s.Wall(0).Round(0), s.Wall(0), "a time for people has no monotonic part")
	})
}

func TestSystemTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Second)
		s := System()
		timer := s.NewTimer(2 * time.Second)
		time.Sleep(2*time.Second - 1)
		synctest.Wait()
		require.Empty(t, timer.C())
		require.Equal(t, 2*time.Second, <-timer.C())
		require.False(t, timer.Stop(), "has fired")
		require.Empty(t, timer.C(), "fires once")
	})
}

func TestSystemTimerFiresAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := System()
		for _, d := range []time.Duration{0, -1, -time.Hour} {
			require.Zero(t, <-s.NewTimer(d).C())
			called := make(chan struct{})
			s.AfterFunc(d, func() { close(called) })
			<-called
		}
		require.Zero(t, s.Now())
	})
}

func TestSystemTimerStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := System()
		timer := s.NewTimer(time.Second)
		f := s.AfterFunc(time.Second, func() { t.Error("called") })
		require.Nil(t, f.C())
		require.True(t, timer.Stop())
		require.True(t, f.Stop())
		require.False(t, timer.Stop(), "was stopped before")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, timer.C())
	})
}

func TestSystemAfterFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := System()
		var at time.Duration
		f := s.AfterFunc(time.Second, func() { at = s.Now() })
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, time.Second, at)
		require.False(t, f.Stop())
	})
}

func TestSystemNowAllocatesNothing(t *testing.T) {
	s := System()
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Now() }))
}

func BenchmarkSystemNow(b *testing.B) {
	s := System()
	for b.Loop() {
		s.Now()
	}
}

func BenchmarkTimeSince(b *testing.B) {
	origin := time.Now()
	for b.Loop() {
		time.Since(origin)
	}
}
