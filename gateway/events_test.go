package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
)

func refusal(rule, resource string) cordon.BlockEvent {
	return cordon.BlockEvent{Err: &cordon.BlockedError{Kind: cordon.KindFlow, RuleID: rule, Resource: resource}}
}

func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual()
	e := newEvents(clk, newLimitedLog(nil, clk))
	for i := range 10 * maxRefusals {
		clk.Advance(time.Millisecond)
		e.block(refusal("r", fmt.Sprint(i)))
		e.block(refusal("r", "busy"))
	}
	for i := range 10 * maxChanges {
		clk.Advance(time.Millisecond)
		e.fault(cordon.FaultEvent{Where: fmt.Sprint("f", i), Err: errors.New("boom")})
	}
	list := e.list()
	require.Len(t, list, maxChanges+maxRefusals)
	require.Equal(t, fmt.Sprintf("f%d: boom", 10*maxChanges-1), list[0].Text, "the newest comes first")
	require.Equal(t, fmt.Sprintf("f%d: boom", 9*maxChanges), list[maxChanges-1].Text, "the oldest were dropped")
	for i, ev := range list[1:] {
		require.False(t, ev.Time.After(list[i].Time))
	}
	for _, ev := range list {
		if ev.Resource == "busy" {
			require.Equal(t, int64(10*maxRefusals), ev.Count, "what still happens is not dropped")
			return
		}
	}
	t.Fatal("the busy one was dropped")
}

func TestEventsTell(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual()
	e := newEvents(clk, newLimitedLog(nil, clk))
	e.breaker(cordon.BreakerEvent{
		Resource: "pay", RuleID: "b1", Time: clk.Wall(clk.Now()),
		Transition: breaker.Transition{From: breaker.Closed, To: breaker.Open, Reason: "5 of 5 failed"},
	})
	shadow := refusal("r1", "pay")
	shadow.Shadow = true
	e.block(shadow)
	list := e.list()
	require.Len(t, list, 2)
	require.Equal(t, "breaker", list[0].What)
	require.Contains(t, list[0].Text, "5 of 5 failed")
	require.Equal(t, "pay", list[0].Resource)
	require.True(t, list[1].Shadow)
}

// A decision about a region is told from one about an instance; the numbers are there in one line.
func TestIsolationEventsTell(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual()
	e := newEvents(clk, newLimitedLog(nil, clk))
	ev := isolation.Event{
		Service: "pay", Address: "http://a", Kind: isolation.EventQuarantined, At: time.Minute, Until: time.Minute + 12_340*time.Millisecond,
		Reason: "9 of 9 calls failed", RuleID: "i1", Strikes: 2, Sick: 1, Instances: 5, Shadow: true,
	}
	e.isolation(cordon.IsolationEvent{Event: ev, Time: clk.Wall(ev.At)})
	ev.Address, ev.Kind, ev.At, ev.Until, ev.Strikes, ev.Reason = "eu", isolation.EventInService, 2*time.Minute, 0, 2, "its slow start is over"
	e.region(ev)
	ev.Address, ev.Kind, ev.At, ev.Reason = "", isolation.EventFallbackOn, 3*time.Minute, "4 of 5 are sick"
	e.isolation(cordon.IsolationEvent{Event: ev, Time: clk.Wall(ev.At)})
	var got []string
	for _, ev := range e.list() {
		require.Equal(t, [4]string{"isolation", "isolation", "i1", "pay"}, [4]string{ev.What, ev.Kind, ev.Rule, ev.Resource})
		require.True(t, ev.Shadow)
		got = append(got, ev.Text)
	}
	require.Equal(t, []string{
		"fallback on: 4 of 5 are sick; 1 of 5 sick",
		"region eu in service: its slow start is over; 1 of 5 sick",
		"http://a quarantined for 12.3s (2 strikes): 9 of 9 calls failed; 1 of 5 sick",
	}, got)
}

func TestLogIsLimited(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual()
	var out safeBuffer
	l := newLimitedLog(slog.New(slog.NewTextHandler(&out, nil)), clk)
	for range 100 {
		l.log(slog.LevelWarn, "trouble", "a")
		l.log(slog.LevelWarn, "trouble", "b")
		l.log(slog.LevelDebug, "not enabled", "a")
	}
	require.Equal(t, 2, strings.Count(out.String(), "trouble"))
	clk.Advance(logEvery)
	l.log(slog.LevelWarn, "trouble", "a")
	require.Equal(t, 3, strings.Count(out.String(), "trouble"))
	require.Contains(t, out.String(), "skipped=99")
	for i := range 10 * maxLogKeys {
		l.log(slog.LevelWarn, "many", fmt.Sprint(i))
	}
	require.LessOrEqual(t, strings.Count(out.String(), "many"), maxLogKeys)
	require.LessOrEqual(t, len(l.seen), maxLogKeys+1)
	newLimitedLog(nil, clk).log(slog.LevelError, "nobody listens", "")
}
