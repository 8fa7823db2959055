package datasource_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
)

func TestFirstDocumentIsAppliedAtOnce(t *testing.T) {
	pumping(t, datasource.PumpOptions{}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		f.say("bad one") // a refused one leaves nothing in force: the next is as urgent
		synctest.Wait()
		f.say("one")
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 0}, a.times())
		require.Equal(t, []string{"bad one", "one"}, a.took())
	})
}

// faults #63: truncate and write are one update, and what is half written in a burst is never offered.
func TestBurstIsOneUpdate(t *testing.T) {
	pumping(t, datasource.PumpOptions{}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		f.say("old")
		rest(time.Second)
		a.took()
		for _, content := range []string{"", "ne", "new"} {
			f.say(content)
			rest(49 * time.Millisecond)
		}
		require.Empty(t, a.took())
		rest(time.Millisecond)
		require.Equal(t, []time.Duration{time.Second + 3*49*time.Millisecond + time.Millisecond}, a.times())
		require.Equal(t, []string{"new"}, a.took())
		rest(time.Hour)
		require.Empty(t, a.took())
		require.EqualValues(t, 2, p.Health().Updates)
	})
}

func TestStreamOfChangesCannotDelayForEver(t *testing.T) {
	pumping(t, datasource.PumpOptions{Debounce: 20 * time.Millisecond}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		f.say("old")
		rest(time.Second)
		a.took()
		for i := range 100 {
			f.say(fmt.Sprint(i))
			rest(10 * time.Millisecond)
		}
		rest(time.Second)
		times := a.times()
		require.Equal(t, time.Second+200*time.Millisecond, times[0], "ten times the debounce after the first change")
		for i := 1; i < len(times); i++ {
			require.LessOrEqual(t, times[i]-times[i-1], 210*time.Millisecond)
		}
		took := a.took()
		require.Equal(t, "99", took[len(took)-1])
		require.LessOrEqual(t, len(took), 6)
	})
}

// Saying the same thing again and again is no change and delays nothing.
func TestRepetitionDoesNotDelay(t *testing.T) {
	pumping(t, datasource.PumpOptions{}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		f.say("old")
		rest(time.Second)
		for range 20 {
			f.say("new")
			rest(10 * time.Millisecond)
		}
		require.Equal(t, []time.Duration{0, time.Second + 50*time.Millisecond}, a.times())
	})
}

func TestNegativeDebounceIsNone(t *testing.T) {
	pumping(t, datasource.PumpOptions{Debounce: -1}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		for i := range 5 {
			f.say(fmt.Sprint(i))
			synctest.Wait()
		}
		require.Equal(t, []time.Duration{0, 0, 0, 0, 0}, a.times())
	})
}

func TestHugeDebounceIsBounded(t *testing.T) {
	pumping(t, datasource.PumpOptions{Debounce: 1 << 62}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		f.say("old")
		synctest.Wait()
		f.say("new")
		rest(time.Hour)
		require.Equal(t, []string{"old", "new"}, a.took())
	})
}

// faults #66: the same content delivered again and again changes nothing.
func TestIdenticalIsSkipped(t *testing.T) {
	pumping(t, datasource.PumpOptions{}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		for range 10 {
			f.say("a")
			rest(time.Second)
		}
		require.Equal(t, []string{"a"}, a.took())
		h := p.Health()
		require.EqualValues(t, 1, h.Updates)
		require.Equal(t, 9*time.Second, h.LastSuccess.Sub(h.Applied), "an identical document is a success")

		f.say("b") // there and back within the debounce
		f.say("a")
		rest(time.Second)
		require.Empty(t, a.took())
	})
}

func TestRefusedIsNotOfferedAgainUntilAnotherCame(t *testing.T) {
	pumping(t, datasource.PumpOptions{}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		steps := []struct {
			say     string
			offered []string
		}{
			{"good", []string{"good"}},
			{"bad 1", []string{"bad 1"}},
			{"bad 1", nil},
			{"bad 2", []string{"bad 2"}},
			{"bad 1", []string{"bad 1"}},
			{"good", nil}, // in force all the while
			{"bad 1", []string{"bad 1"}},
			{"other", []string{"other"}},
			{"bad 1", []string{"bad 1"}},
			{"bad 1", nil},
			{"good", []string{"good"}}, // not in force any more
		}
		for i, step := range steps {
			f.say(step.say)
			rest(time.Second)
			require.Equal(t, step.offered, a.took(), "step %d: %s", i, step.say)
		}
		require.EqualValues(t, 3, p.Health().Updates)
		require.EqualValues(t, 5, p.Health().Failures)
	})
}

// eager is a feed that knows how long its documents take to settle.
type eager struct {
	feed
	debounce time.Duration
}

func (e eager) Debounce() time.Duration { return e.debounce }

// What a source says is the default only.
func TestSourceSaysTheDebounce(t *testing.T) {
	for _, test := range []struct{ says, option, want time.Duration }{
		{0, 0, 0}, {-1, 0, 0}, {time.Second, 0, time.Second}, {0, 20 * time.Millisecond, 20 * time.Millisecond}, {time.Second, -1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, a := make(feed), newApplier()
			p := datasource.Start(t.Context(), eager{f, test.says}, a.apply, datasource.PumpOptions{Debounce: test.option})
			f.say("one")
			synctest.Wait()
			f.say("two")
			rest(time.Minute)
			require.Equal(t, []time.Duration{0, test.want}, a.times(), test)
			require.NoError(t, p.Close())
		})
	}
}
