package datasource_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
)

func text(content string) datasource.Update {
	return datasource.Update{Document: datasource.Document{Data: []byte(content), Version: content}}
}

// faults #66: a source that has failed is watched again soon, then ever more rarely.
func TestBackoffGrowsAndIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Time
		src := sourceFunc(func(context.Context, func(datasource.Update)) error {
			starts = append(starts, time.Now())
			return errBroken
		})
		p := datasource.Start(t.Context(), src, newApplier().apply, datasource.PumpOptions{})
		rest(10 * time.Minute)
		require.NoError(t, p.Close())
		require.EqualValues(t, len(starts), p.Health().Failures)

		base := 200 * time.Millisecond
		atMost := 0
		for i := 1; i < len(starts); i++ {
			pause := starts[i].Sub(starts[i-1])
			require.GreaterOrEqual(t, pause, max(base*8/10, 200*time.Millisecond), "pause %d", i)
			require.LessOrEqual(t, pause, min(base*12/10, 30*time.Second), "pause %d", i)
			if pause == 30*time.Second {
				atMost++
			}
			base = min(base*2, 30*time.Second)
		}
		require.Greater(t, len(starts), 20)
		require.LessOrEqual(t, atMost, 1, "pauses at the bound are still jittered")
	})
}

func TestBackoffBeginsAnewAfterGoodService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lasts := []time.Duration{0, 0, 0, 10 * time.Second, 0, 10 * time.Second, 0, 0, 0, 0, time.Second, 0}
		const deliversFrom = 5
		var ends, starts []time.Time
		src := sourceFunc(func(ctx context.Context, deliver func(datasource.Update)) error {
			i := len(starts)
			starts = append(starts, time.Now())
			if i >= len(lasts) {
				<-ctx.Done()
				return nil
			}
			if i >= deliversFrom {
				deliver(text("a"))
			}
			time.Sleep(lasts[i])
			ends = append(ends, time.Now())
			return errBroken
		})
		p := datasource.Start(t.Context(), src, newApplier().apply, datasource.PumpOptions{MinBackoff: 100 * time.Millisecond, MaxBackoff: 2 * time.Second})
		rest(time.Hour)
		require.NoError(t, p.Close())
		pause := func(i int) time.Duration { return starts[i+1].Sub(ends[i]) }
		require.Greater(t, pause(3), 600*time.Millisecond, "it had gone on for long but delivered nothing")
		require.Greater(t, pause(4), time.Second)
		require.Less(t, pause(5), 121*time.Millisecond, "it had delivered and gone on for longer than the bound")
		require.Greater(t, pause(10), time.Second, "it had delivered but ended too soon")
	})
}

func TestEndWithoutErrorIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		src := sourceFunc(func(_ context.Context, deliver func(datasource.Update)) error {
			calls++
			deliver(text("a"))
			return nil
		})
		a := newApplier()
		p := datasource.Start(t.Context(), src, a.apply, datasource.PumpOptions{})
		rest(time.Second)
		require.Error(t, p.Health().LastError)
		require.Greater(t, calls, 1)
		require.Equal(t, []string{"a"}, a.took())
		require.NoError(t, p.Close())
	})
}

type panicking struct{}

func (panicking) Name() string                                         { panic("no name") }
func (panicking) Watch(context.Context, func(datasource.Update)) error { panic(errBroken) }

// A panic of what was handed in is a failure like any other.
func TestPanicsAreFailures(t *testing.T) {
	t.Run("source", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := datasource.Start(t.Context(), panicking{}, newApplier().apply, datasource.PumpOptions{})
			rest(time.Second)
			h := p.Health()
			require.Equal(t, "datasource_test.panicking", h.Source)
			require.ErrorIs(t, h.LastError, errBroken)
			require.ErrorContains(t, h.LastError, "panicked")
			require.Greater(t, h.Failures, int64(1), "it was watched again")
			require.NoError(t, p.Close())
		})
	})
	t.Run("apply", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := make(feed)
			p := datasource.Start(t.Context(), f, func(d datasource.Document) error {
				if isBad(string(d.Data)) {
					panic("cannot")
				}
				return nil
			}, datasource.PumpOptions{})
			f.say("good")
			synctest.Wait()
			f.say("bad")
			rest(time.Second)
			require.ErrorContains(t, p.Health().LastError, "cannot")
			require.Equal(t, "v-good", p.Health().Version)
			f.say("better")
			rest(time.Second)
			require.Equal(t, "v-better", p.Health().Version)
			require.NoError(t, p.Close())
		})
	})
	t.Run("logger", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := make(feed)
			p := datasource.Start(t.Context(), f, newApplier().apply, datasource.PumpOptions{Logger: slog.New(badHandler{})})
			f.fail(errBroken)
			f.say("good")
			rest(time.Second)
			require.Equal(t, "v-good", p.Health().Version)
			require.NoError(t, p.Close())
		})
	})
}

type badHandler struct{ slog.Handler }

func (badHandler) Enabled(context.Context, slog.Level) bool { panic("no level") }

// A goroutine that is ended from within cannot be saved, but the pump ends and says so instead of waiting for ever.
func TestGoexitEndsThePump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := make(feed)
		p := datasource.Start(t.Context(), f, func(datasource.Document) error {
			runtime.Goexit()
			return nil
		}, datasource.PumpOptions{})
		f.say("a")
		synctest.Wait()
		require.False(t, p.Health().Running)
		require.ErrorContains(t, p.Health().LastError, "Goexit")
		require.ErrorIs(t, p.First(t.Context()), datasource.ErrClosed)
		require.NoError(t, p.Close())
	})
}

// What a source says after its Watch has returned is not heard.
func TestLateDeliveryIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late func(datasource.Update)
		calls := 0
		src := sourceFunc(func(ctx context.Context, deliver func(datasource.Update)) error {
			if calls++; calls == 1 {
				late = deliver
				deliver(text("old"))
				return errBroken
			}
			deliver(text("new"))
			<-ctx.Done()
			return nil
		})
		a := newApplier()
		p := datasource.Start(t.Context(), src, a.apply, datasource.PumpOptions{})
		rest(time.Second)
		late(text("old"))
		late(datasource.Update{Err: errors.New("late")})
		rest(time.Second)
		require.Equal(t, []string{"old", "new"}, a.took())
		require.NoError(t, p.Health().LastError)
		require.NoError(t, p.Close())
		late(text("later"))
	})
}

// A source is never held up by a slow apply.
func TestDeliverDoesNotWaitForApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := make(feed)
		var calls []string
		p := datasource.Start(t.Context(), f, func(d datasource.Document) error {
			calls = append(calls, string(d.Data))
			time.Sleep(time.Minute)
			return nil
		}, datasource.PumpOptions{})
		began := time.Now()
		for i := range 100 {
			f.say(fmt.Sprint(i))
			synctest.Wait()
		}
		require.Zero(t, time.Since(began))
		rest(time.Hour)
		require.Equal(t, []string{"0", "99"}, calls)
		require.NoError(t, p.Close())
	})
}

func TestLogIsRateLimitedAndComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, nil))
		f := make(feed)
		p := datasource.Start(t.Context(), f, newApplier().apply, datasource.PumpOptions{Logger: logger})
		for range 1000 {
			f.fail(errBroken)
			rest(100 * time.Millisecond)
		}
		rest(time.Minute)
		f.say("good")
		synctest.Wait()
		require.NoError(t, p.Close())

		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.LessOrEqual(t, len(lines), 6+10+1)
		leftOut := 0
		for _, line := range lines {
			require.Contains(t, line, "source=feed")
			if _, n, ok := strings.Cut(line, "leftOut="); ok {
				var count int
				_, err := fmt.Sscan(n, &count)
				require.NoError(t, err)
				leftOut += count
			}
		}
		require.Contains(t, lines[0], "broken")
		require.Contains(t, lines[len(lines)-1], "recovered")
		require.Equal(t, 1001, len(lines)+leftOut, "every line is written or counted")
	})
}
