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
