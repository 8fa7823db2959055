package demo

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
)

// newBooks returns a stage without gateway or traffic: books to be filled by hand and judged.
func newBooks() (*stage, *bytes.Buffer) {
	var out bytes.Buffer
	clk := clock.System()
	s := &stage{
		screen: screen.New(&out), clock: clk, journal: newJournal(clk), chapter: 1,
		rules: rules{searchLimit: 10, payThreshold: 0.5, reportLimit: 2, cartLimit: 10, cartBurst: 5},
	}
	for name, into := range map[string]**service{"search": &s.search, "pay": &s.pay, "report": &s.report, "cart": &s.cart} {
		*into = newService(newUpstream(name, clk))
		(*into).load = &load{clock: clk}
	}
	return s, &out
}

// evenly returns n times from start on, apart from each other by step.
func evenly(start, step time.Duration, n int) []time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		times[i] = start + time.Duration(i)*step
	}
	return times
}

func shifted(times []time.Duration, by time.Duration) []time.Duration {
	moved := make([]time.Duration, len(times))
	for i, t := range times {
		moved[i] = t + by
	}
	return moved
}

func TestJudgeLimit(t *testing.T) {
	burst := append(evenly(0, time.Millisecond, 10), evenly(time.Second, time.Millisecond, 10)...)
	// The first burst is held up on its way and arrives together with the second.
	late := append(evenly(900*time.Millisecond, time.Millisecond, 10), shifted(burst[10:], time.Millisecond)...)
	for name, c := range map[string]struct {
		admitted, arrived []time.Duration
		held              bool
		says              string
	}{
		"held":                      {burst, shifted(burst, time.Millisecond), true, "by arrival at the service: 10 calls, limit 10"},
		"one too many":              {evenly(0, time.Millisecond, 11), evenly(0, time.Millisecond, 11), false, "by admission: 11 calls"},
		"held, but the way was not": {burst, late, true, "20 calls, some held up on the way by 899ms; fullest 101ms: 10, limit 10"},
		"too many on the same way":  {evenly(0, time.Millisecond, 30), evenly(2*time.Millisecond, time.Millisecond, 30), false, "30 calls, limit 10"},
		"never used":                {evenly(0, 500*time.Millisecond, 8), evenly(0, 500*time.Millisecond, 8), false, "by admission: 2 calls"},
		"arrived unadmitted":        {burst, append(shifted(burst, 1), 3*time.Second), false, "20 calls were admitted, but 21 arrived"},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := newBooks()
			s.journal.admissions["search"] = c.admitted
			s.search.arrivals[""] = c.arrived
			s.judgeLimit(10, 0, time.Hour)
			require.Equal(t, c.held, len(s.summary.Broken()) == 0, out.String())
			require.Contains(t, out.String(), c.says)
		})
	}
}

// An edit that starts the count afresh shows as twice the limit in a second (faults #27).
func TestJudgeEditsFindsAWindowThatWasReset(t *testing.T) {
	full := evenly(0, time.Millisecond, lowLimit)
	again := shifted(full, 400*time.Millisecond)
	high := evenly(3*time.Second, time.Millisecond, 200)
	for name, c := range map[string]struct {
		low  []time.Duration
		held bool
	}{
		"kept":  {append(full, shifted(full, time.Second)...), true},
		"reset": {append(full, again...), false},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := newBooks()
			s.clock = clock.NewManual()
			s.clock.(*clock.Manual).Advance(time.Hour)
			s.journal.admissions["search"] = append(append([]time.Duration{}, c.low...), high...)
			s.judgeEdits(0, 0, 2900*time.Millisecond, 200)
			require.Equal(t, c.held, len(s.summary.Broken()) == 0, out.String())
		})
	}
}

// faults #38: an edit that closes an open breaker, or cuts its time short, is seen.
func TestJudgeOpenFindsCallsLetThroughAndTimersCutShort(t *testing.T) {
	opened := breaker.Transition{To: breaker.Open, At: 10 * time.Second, OpenFor: time.Second}
	for name, c := range map[string]struct {
		admitted []time.Duration
		probing  time.Duration
		held     bool
	}{
		"nothing through":        {[]time.Duration{9 * time.Second, 10*time.Second + straggle/2, 11 * time.Second}, 11 * time.Second, true},
		"one let through":        {[]time.Duration{10500 * time.Millisecond}, 11 * time.Second, false},
		"the timer is cut short": {nil, 10900 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newBooks()
			s.journal.admissions["pay"] = c.admitted
			s.judgeOpen(opened, breaker.Transition{To: breaker.HalfOpen, At: c.probing})
			require.Equal(t, c.held, len(s.summary.Broken()) == 0)
		})
	}
}

func TestTheJournalKeepsWhatTheEngineTells(t *testing.T) {
	j := newJournal(clock.System())
	o := j.observer()
	call := &cordon.CheckedCall{Request: cordon.Request{Resource: "search"}, Now: 5}
	require.True(t, j.idle("search"))
	require.NoError(t, j.Check(call))
	require.False(t, j.idle("search"))
	require.True(t, j.idle("pay"))
	j.Done(call, cordon.Success, 0, true)
	require.True(t, j.idle("search"))
	refused := &cordon.CheckedCall{Request: cordon.Request{Resource: "search"}, Now: 3}
	require.NoError(t, j.Check(refused))
	j.Done(refused, cordon.Ignored, 0, false)
	earlier := &cordon.CheckedCall{Request: cordon.Request{Resource: "search"}, Now: 4}
	require.NoError(t, j.Check(earlier))
	j.Done(earlier, cordon.Failure, 0, true)
	require.True(t, j.idle("search"))
	require.Equal(t, []time.Duration{4, 5}, j.admitted("search"))
	require.Empty(t, j.admitted("pay"))

	o.Breaker(cordon.BreakerEvent{Resource: "pay", Transition: breaker.Transition{To: breaker.Open}})
	require.Len(t, j.history("pay"), 1)
	require.Empty(t, j.history("search"))
	o.Fault(cordon.FaultEvent{Where: "checker journal"})
	require.Len(t, j.faulty(), 1)
}

func TestTheRuleFileIsReplacedWhole(t *testing.T) {
	folder := t.TempDir()
	f := ruleFile{filepath.Join(folder, "rules.yaml")}
	require.NoError(t, f.overwrite("old"))
	before, err := os.Stat(f.path)
	require.NoError(t, err)
	require.NoError(t, f.replace("new"))
	after, err := os.Stat(f.path)
	require.NoError(t, err)
	require.False(t, os.SameFile(before, after), "renamed over, not written into")
	text, err := os.ReadFile(f.path)
	require.NoError(t, err)
	require.Equal(t, "new", string(text))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)

	require.Error(t, ruleFile{filepath.Join(folder, "none", "rules.yaml")}.replace("x"))
}

func TestTheDocumentIsGood(t *testing.T) {
	d, err := cordon.Native("rules.yaml", []byte(rules{200, 0.5, 20, 50, 10, 2 * time.Second}.document()))
	require.NoError(t, err)
	require.Empty(t, d.Problems)
	require.EqualValues(t, 200, d.Rules.Flow[0].Limit)
	require.Equal(t, 20, d.Rules.Concurrency[0].Limit)
	require.Equal(t, 0.5, d.Rules.Breaker[0].Threshold)
	require.Equal(t, 2*time.Second, d.Rules.Isolation[0].SlowStart)
	require.Equal(t, stockBase, d.Rules.Isolation[0].Base)
	require.Equal(t, stockJitter, d.Rules.Isolation[0].Jitter)
}

func TestTheConclusionNamesWhatDidNotHold(t *testing.T) {
	s, out := newBooks()
	s.found(true, "fine")
	s.outcome("limit: fine")
	s.chapter++
	s.found(true, "good")
	s.found(false, "3 calls let through")
	s.outcome("breaker: not so fine")
	out.Reset()
	s.conclude()
	text := out.String()
	require.Contains(t, text, "✓ 1  limit: fine\n")
	require.Contains(t, text, "✗ 2  3 calls let through\n")
	require.NotContains(t, text, "not so fine")
	require.True(t, strings.HasSuffix(text, "1 of 3 promises did not hold.\n"), text)
}
