package datasource_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
)

func TestStartNeedsSourceAndApply(t *testing.T) {
	require.Panics(t, func() { datasource.Start(t.Context(), nil, newApplier().apply, datasource.PumpOptions{}) })
	require.Panics(t, func() { datasource.Start(t.Context(), make(feed), nil, datasource.PumpOptions{}) })
	var none context.Context
	p := datasource.Start(none, make(feed), newApplier().apply, datasource.PumpOptions{})
	require.True(t, p.Health().Running)
	require.NoError(t, p.Close())
}

func TestFirst(t *testing.T) {
	type step func(f feed)
	say := func(c string) step { return func(f feed) { f.say(c) } }
	fail := func(err error) step { return func(f feed) { f.fail(err) } }
	for _, test := range []struct {
		name  string
		steps []step
		want  error
		after time.Duration // how long First waits; each step takes a second
	}{
		{"applied", []step{say("a")}, nil, 0},
		{"refused", []step{say("bad")}, errRefused, 0},
		{"absent", []step{fail(fmt.Errorf("no: %w", datasource.ErrAbsent))}, datasource.ErrAbsent, 0},
		{"failing, then applied", []step{fail(errBroken), fail(errBroken), say("a")}, nil, 2 * time.Second},
		{"failing, then refused", []step{fail(errBroken), say("bad")}, errRefused, time.Second},
		{"failing for ever", []step{fail(errBroken)}, errBroken, 5 * time.Second},
		{"failing for ever, as the context says", []step{fail(errBroken)}, context.DeadlineExceeded, 5 * time.Second},
		{"silent", nil, context.DeadlineExceeded, 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			pumping(t, datasource.PumpOptions{}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				go func() {
					for _, s := range test.steps {
						s(f)
						time.Sleep(time.Second)
					}
				}()
				err := p.First(ctx)
				require.ErrorIs(t, err, test.want)
				require.Equal(t, test.after, time.Since(a.began))
				rest(time.Minute)

				if test.want != nil {
					require.ErrorContains(t, err, "feed", "it says which source")
				}
			})
		})
	}
}

func TestFirstSaysWhatIsNow(t *testing.T) {
	pumping(t, datasource.PumpOptions{}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		f.fail(datasource.ErrAbsent)
		require.ErrorIs(t, p.First(t.Context()), datasource.ErrAbsent)
		f.say("bad")
		synctest.Wait()
		require.ErrorIs(t, p.First(t.Context()), errRefused)
		f.fail(datasource.ErrAbsent)
		synctest.Wait()
		require.ErrorIs(t, p.First(t.Context()), datasource.ErrAbsent)
		f.say("bad")
		synctest.Wait()
		require.ErrorIs(t, p.First(t.Context()), errRefused)
		f.say("good")
		synctest.Wait()
		require.NoError(t, p.First(t.Context()))
		f.fail(datasource.ErrAbsent)
		f.say("bad")
		rest(time.Second)
		require.NoError(t, p.First(t.Context()), "a document has been applied")
		require.NoError(t, p.Close())
		require.NoError(t, p.First(t.Context()))
	})
}

// A document that is being applied decides, not the absence that came after it.
func TestFirstWaitsForTheDocumentOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := make(feed)
		p := datasource.Start(t.Context(), f, func(datasource.Document) error {
			time.Sleep(time.Second)
			return nil
		}, datasource.PumpOptions{})
		f.say("a")
		synctest.Wait()
		f.fail(datasource.ErrAbsent)
		require.NoError(t, p.First(t.Context()))
		require.ErrorIs(t, p.Health().LastError, datasource.ErrAbsent)
		require.NoError(t, p.Close())
	})
}

func TestFirstOfAClosedPump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := datasource.Start(t.Context(), make(feed), newApplier().apply, datasource.PumpOptions{})
		go func() {
			time.Sleep(time.Second)
			_ = p.Close()
		}()
		require.ErrorIs(t, p.First(t.Context()), datasource.ErrClosed)
	})
}

func TestCloseWaitsAndIsIdempotent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := make(feed)
		var applying atomic.Bool
		p := datasource.Start(t.Context(), f, func(datasource.Document) error {
			applying.Store(true)
			time.Sleep(time.Minute)
			applying.Store(false)
			return nil
		}, datasource.PumpOptions{})
		f.say("a")
		synctest.Wait()
		require.True(t, applying.Load())
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := p.Close(); err != nil || p.Health().Running {
					t.Errorf("Close: %v, running: %t", err, p.Health().Running)
				}
			})
		}
		all.Wait()
		require.False(t, applying.Load())
		require.EqualValues(t, 1, p.Health().Updates, "what ended while closing counts")
		require.NoError(t, p.Close())
	})
}

func TestNothingIsAppliedAfterClose(t *testing.T) {
	pumping(t, datasource.PumpOptions{}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		f.say("a")
		synctest.Wait()
		f.say("b") // would be due in 50ms
		synctest.Wait()
		require.NoError(t, p.Close())
		rest(time.Hour)
		require.Equal(t, []string{"a"}, a.took())
	})
}

func TestContextEndsThePump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		failing := datasource.Start(ctx, sourceFunc(func(context.Context, func(datasource.Update)) error { return errBroken }),
			newApplier().apply, datasource.PumpOptions{})
		running := datasource.Start(ctx, make(feed), newApplier().apply, datasource.PumpOptions{})
		rest(time.Second)
		cancel()
		synctest.Wait()
		require.False(t, failing.Health().Running)
		require.False(t, running.Health().Running)
		require.NoError(t, running.Health().LastError, "the end that was asked for is no failure")
	})
}

// Closing from within must neither wait for itself nor be lost (a rule listener that shuts the program down, say).
func TestCloseFromWithin(t *testing.T) {
	t.Run("apply", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := make(feed)
			var p *datasource.Pump
			started := make(chan struct{})
			p = datasource.Start(t.Context(), f, func(datasource.Document) error {
				<-started
				return p.Close()
			}, datasource.PumpOptions{})
			close(started)
			f.say("a")
			require.ErrorIs(t, p.First(t.Context()), datasource.ErrClosing)
			require.NoError(t, p.Close())
			require.False(t, p.Health().Running)
		})
	})
	t.Run("source", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var p *datasource.Pump
			started := make(chan struct{})
			p = datasource.Start(t.Context(), sourceFunc(func(context.Context, func(datasource.Update)) error {
				<-started
				return p.Close()
			}), newApplier().apply, datasource.PumpOptions{})
			close(started)
			synctest.Wait()
			require.False(t, p.Health().Running)
			require.ErrorIs(t, p.Health().LastError, datasource.ErrClosing, "what the source ended with")
			require.NoError(t, p.Close())
		})
	})
	t.Run("another pump's apply waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			inner := datasource.Start(t.Context(), make(feed), newApplier().apply, datasource.PumpOptions{})
			f := make(feed)
			outer := datasource.Start(t.Context(), f, func(datasource.Document) error { return inner.Close() }, datasource.PumpOptions{})
			f.say("a")
			require.NoError(t, outer.First(t.Context()))
			require.False(t, inner.Health().Running)
			require.NoError(t, outer.Close())
		})
	})
}

func TestHealthShowsHowTheSourceEnded(t *testing.T) {
	for _, test := range []struct {
		end, want error
	}{
		{nil, nil},
		{context.Canceled, nil},
		{fmt.Errorf("stopped: %w", context.DeadlineExceeded), nil},
		{errBroken, errBroken},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := datasource.Start(t.Context(), sourceFunc(func(ctx context.Context, _ func(datasource.Update)) error {
				<-ctx.Done()
				return test.end
			}), newApplier().apply, datasource.PumpOptions{})
			synctest.Wait()
			require.NoError(t, p.Close())
			require.ErrorIs(t, p.Health().LastError, test.want)
		})
	}
}

// faults #76: a thousand pumps over a dead source come and go and leave nothing.
func TestThousandPumpsLeaveNothing(t *testing.T) {
	dead := sourceFunc(func(context.Context, func(datasource.Update)) error { return errBroken })
	before := runtime.NumGoroutine()
	for range 1000 {
		p := datasource.Start(t.Context(), dead, newApplier().apply, datasource.PumpOptions{})
		require.NoError(t, p.Close())
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before+2)
}

// faults #73: everything at once; the newest document is in force in the end, documents come in order, one apply at a time.
func TestPumpConcurrentSafe(t *testing.T) {
	rounds, documents := 20, 300
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		said := make(chan struct{})
		tick := make(chan struct{}, 4) // paces the readers: spinning ones would only starve the others
		src := sourceFunc(func(ctx context.Context, deliver func(datasource.Update)) error {
			for i := range documents {
				deliver(datasource.Update{Document: datasource.Document{Data: fmt.Append(nil, i), Version: fmt.Sprint(i)}})
				if i%7 == 0 {
					deliver(datasource.Update{Err: errBroken})
				}
				select {
				case tick <- struct{}{}:
				default:
				}
			}
			deliver(datasource.Update{Document: datasource.Document{Data: []byte("last"), Version: "last"}})
			close(said)
			<-ctx.Done()
			return ctx.Err()
		})
		var applying atomic.Int32
		last := -1
		inForce := make(chan struct{})
		p := datasource.Start(t.Context(), src, func(d datasource.Document) error {
			if applying.Add(1) != 1 {
				t.Error("two applies at once")
			}
			defer applying.Add(-1)
			if d.Version == "last" {
				close(inForce)
				return nil
			}
			var n int
			if _, err := fmt.Sscan(d.Version, &n); err != nil || n <= last {
				t.Errorf("%s after %d", d.Version, last)
			}
			last = n
			if n%3 == 0 {
				return errRefused
			}
			return nil
		}, datasource.PumpOptions{Debounce: -1})

		ctx, cancel := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for range tick {
					h := p.Health()
					if h.Updates < 0 || (h.Updates > 0) != (h.Version != "") {
						t.Errorf("torn health %+v", h)
					}
					if err := p.First(ctx); err != nil && !errors.Is(err, errRefused) && ctx.Err() == nil {
						t.Error(err)
					}
				}
			})
		}
		<-said
		<-inForce
		for range 3 {
			readers.Go(func() { _ = p.Close() })
		}
		require.NoError(t, p.Close())
		require.Equal(t, "last", p.Health().Version)
		cancel()
		close(tick)
		readers.Wait()
	}
}
