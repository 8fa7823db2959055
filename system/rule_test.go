package system

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, good := range []Rule{
		{Metric: Load, Limit: 0}, {Metric: Load, Limit: 100_000}, {Metric: CPU, Limit: 0.8, Admission: Refuse}, {Metric: CPU, Limit: 1}, {Metric: Load, Limit: 3.5, Admission: BBR},
		{Metric: ResponseTime, SlowerThan: time.Microsecond}, {Metric: ResponseTime, SlowerThan: time.Hour}, {Metric: Concurrency, Limit: 10_000_000}, {Metric: Concurrency, Limit: 0},
		{Metric: Rate, Limit: 0.5}, {Metric: Rate, Limit: 10_000_000}, {Metric: Rate, Limit: 0}, {Metric: Rate, Limit: 2.5, Shadow: true}, {Metric: Rate, Limit: 1.0 / 86400},
	} {
		require.Empty(t, good.Problems(), "%+v", good)
	}
	for _, c := range []struct {
		rule  Rule
		field string
		says  string
	}{
		{Rule{}, "metric", "missing"},
		{Rule{Metric: 9}, "metric", "unknown"},
		{Rule{Metric: Load, Limit: -1}, "limit", "0 to 100000"},
		{Rule{Metric: Load, Limit: 100_001}, "limit", "0 to 100000"},
		{Rule{Metric: Load, Limit: math.NaN()}, "limit", "out of range"},
		{Rule{Metric: CPU, Limit: 80}, "limit", "such as 0.8"},
		{Rule{Metric: CPU, Limit: -0.1}, "limit", "0 to 1"},
		{Rule{Metric: Concurrency, Limit: 1.5}, "limit", "whole number"},
		{Rule{Metric: Concurrency, Limit: math.Inf(1)}, "limit", "out of range"},
		{Rule{Metric: Rate, Limit: 1e8}, "limit", "0 to 10000000"},
		{Rule{Metric: Rate, Limit: 1e-9}, "limit", "less than one call in a day"},
		{Rule{Metric: ResponseTime}, "slowerThan", "missing"},
		{Rule{Metric: ResponseTime, SlowerThan: time.Nanosecond}, "slowerThan", "1µs to 1h"},
		{Rule{Metric: ResponseTime, SlowerThan: 2 * time.Hour}, "slowerThan", "1µs to 1h"},
		{Rule{Metric: ResponseTime, SlowerThan: time.Second, Limit: 1}, "limit", "no meaning"},
		{Rule{Metric: CPU, Limit: 0.5, SlowerThan: time.Second}, "slowerThan", "no meaning"},
		{Rule{Metric: Rate, Limit: 5, Admission: Refuse}, "admission", "no meaning"},
		{Rule{Metric: ResponseTime, SlowerThan: time.Second, Admission: Refuse}, "admission", "no meaning"},
		{Rule{Metric: CPU, Limit: 0.5, Admission: 7}, "admission", "unknown"},
	} {
		problems := rule.Problems(c.rule.Problems())
		require.Len(t, problems, 1, "%+v", c.rule)
		require.Equal(t, c.field, problems[0].Field, "%+v", c.rule)
		require.Contains(t, problems[0].Error(), c.says)
		require.False(t, problems[0].Warning)
		require.NotEmpty(t, problems[0].Want)
	}
}

func TestRuleText(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Rule{
		"inbound calls: while more than 80% of the CPU is in use no more are admitted than can be worked on without queueing": {Metric: CPU, Limit: 0.8},
		"inbound calls: while the machine's load is above 3.5 all are refused":                                                {Metric: Load, Limit: 3.5, Admission: Refuse},
		"inbound calls: all are refused while the mean response time of the last second is above 500ms":                       {Metric: ResponseTime, SlowerThan: 500 * time.Millisecond},
		"inbound calls (in shadow): at most 200 at once in the whole process, the rest is refused":                            {Metric: Concurrency, Limit: 200, Shadow: true},
		"inbound calls: at most 2 in any 1s in the whole process, the rest is refused":                                        {Metric: Rate, Limit: 2.5},
		"inbound calls: at most 1 in any 4s in the whole process, the rest is refused":                                        {Metric: Rate, Limit: 0.25},
		"inbound calls: all are refused": {Metric: Rate},
		"inbound calls: Metric(9)":       {Metric: 9},
	} {
		require.Equal(t, want, r.String())
	}
	require.Equal(t, "inbound calls: all are refused", Rule{Metric: Concurrency}.String())
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, m := range []Metric{Load, CPU, ResponseTime, Concurrency, Rate} {
		text, err := m.MarshalText()
		require.NoError(t, err)
		var back Metric
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, m, back)
		require.ErrorIs(t, m.cause(), ErrOverloaded)
	}
	for _, m := range []Metric{0, 6} {
		_, err := m.MarshalText()
		require.Error(t, err)
	}
	require.Equal(t, "Metric(0)", Metric(0).String())
	require.Error(t, new(Metric).UnmarshalText([]byte("")))
	require.Error(t, new(Metric).UnmarshalText([]byte("qps")))
	require.Len(t, Metric(0).Values(), 5)
	for _, a := range []Admission{BBR, Refuse} {
		text, err := a.MarshalText()
		require.NoError(t, err)
		var back Admission
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, a, back)
	}
	_, err := Admission(2).MarshalText()
	require.Error(t, err)
	require.Equal(t, "Admission(2)", Admission(2).String())
	require.Error(t, new(Admission).UnmarshalText([]byte("BBR")))
	require.Equal(t, []string{"bbr", "refuse"}, Admission(0).Values())
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	rules := []Rule{{Metric: CPU, Limit: 0.8}, {Metric: CPU, Limit: 0.9, Shadow: true}, {Metric: Rate, Limit: 5}, {ID: "mine", Metric: Rate, Limit: 7}}
	require.Empty(t, rule.DeriveIDs("system", rules))
	var ids []string
	for _, r := range rules {
		ids = append(ids, r.Meta().ID)
	}
	require.Equal(t, []string{"cpu#1", "cpu#2", "rate#1", "mine"}, ids)
	require.True(t, rules[1].Meta().Shadow)
	require.True(t, rules[0].Equal(rules[0]))
	require.False(t, rules[0].Equal(rules[1]))
}
