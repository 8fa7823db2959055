package breaker_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/rule"
)

var _ rule.Rule[breaker.Rule] = breaker.Rule{}

func TestRuleProblems(t *testing.T) {
	ok := breaker.Rule{Resource: rule.Name("pay"), Threshold: 0.5}
	slow := ok
	slow.Trip, slow.SlowerThan = breaker.SlowRatio, sec
	count := ok
	count.Trip, count.Threshold = breaker.ErrorCount, 5
	consecutive := ok
	consecutive.Trip, consecutive.Threshold = breaker.Consecutive, 5
	for _, r := range []breaker.Rule{ok, slow, count, consecutive} {
		require.Empty(t, r.Problems())
	}

	with := func(r breaker.Rule, edit func(*breaker.Rule)) breaker.Rule {
		edit(&r)
		return r
	}
	for _, c := range []struct {
		field string
		rule  breaker.Rule
	}{
		{"resource", breaker.Rule{Threshold: 0.5}},
		{"resource", with(ok, func(r *breaker.Rule) { r.Resource = rule.Regex("a(") })},
		{"trip", with(ok, func(r *breaker.Rule) { r.Trip = 4 })},
		{"threshold", with(ok, func(r *breaker.Rule) { r.Threshold = 0 })},
		{"threshold", with(ok, func(r *breaker.Rule) { r.Threshold = -0.1 })},
		{"threshold", with(ok, func(r *breaker.Rule) { r.Threshold = 1.1 })},
		{"threshold", with(ok, func(r *breaker.Rule) { r.Threshold = 50 })},
		{"threshold", with(ok, func(r *breaker.Rule) { r.Threshold = math.NaN() })},
		{"threshold", with(ok, func(r *breaker.Rule) { r.Threshold, r.Above = -1, true })},
		{"threshold", with(slow, func(r *breaker.Rule) { r.Threshold = math.Inf(1) })},
		{"threshold", with(count, func(r *breaker.Rule) { r.Threshold = 0.5 })},
		{"threshold", with(count, func(r *breaker.Rule) { r.Threshold = 2.5 })},
		{"threshold", with(count, func(r *breaker.Rule) { r.Threshold = math.Inf(1) })},
		{"threshold", with(consecutive, func(r *breaker.Rule) { r.Threshold = math.NaN() })},
		{"threshold", with(consecutive, func(r *breaker.Rule) { r.Threshold = 1e9 + 1 })},
		{"slowerThan", with(ok, func(r *breaker.Rule) { r.SlowerThan = sec })},
		{"slowerThan", with(count, func(r *breaker.Rule) { r.SlowerThan = sec })},
		{"slowerThan", with(consecutive, func(r *breaker.Rule) { r.SlowerThan = -sec })},
		{"slowerThan", with(slow, func(r *breaker.Rule) { r.SlowerThan = 0 })},
		{"slowerThan", with(slow, func(r *breaker.Rule) { r.SlowerThan = -1 })},
		{"slowerThan", with(slow, func(r *breaker.Rule) { r.SlowerThan = 25 * time.Hour })},
		{"window", with(ok, func(r *breaker.Rule) { r.Window = 99 * ms })},
		{"window", with(ok, func(r *breaker.Rule) { r.Window = time.Hour + 1 })},
		{"window", with(consecutive, func(r *breaker.Rule) { r.Window = sec })},
		{"buckets", with(ok, func(r *breaker.Rule) { r.Buckets = -1 })},
		{"buckets", with(ok, func(r *breaker.Rule) { r.Buckets = 101 })},
		{"buckets", with(consecutive, func(r *breaker.Rule) { r.Buckets = 1 })},
		{"minCalls", with(ok, func(r *breaker.Rule) { r.MinCalls = -1 })},
		{"minCalls", with(ok, func(r *breaker.Rule) { r.MinCalls = 1e9 + 1 })},
		{"minCalls", with(consecutive, func(r *breaker.Rule) { r.MinCalls = 1 })},
		{"open", with(ok, func(r *breaker.Rule) { r.Open = ms - 1 })},
		{"open", with(ok, func(r *breaker.Rule) { r.Open = -sec })},
		{"open", with(ok, func(r *breaker.Rule) { r.Open = 24*time.Hour + 1 })},
		{"maxOpen", with(ok, func(r *breaker.Rule) { r.MaxOpen = 4 * sec })},
		{"maxOpen", with(ok, func(r *breaker.Rule) { r.Open, r.MaxOpen = sec, sec-1 })},
		{"maxOpen", with(ok, func(r *breaker.Rule) { r.MaxOpen = -1 })},
		{"maxOpen", with(ok, func(r *breaker.Rule) { r.MaxOpen = 24*time.Hour + 1 })},
		{"jitter", with(ok, func(r *breaker.Rule) { r.Jitter = -0.1 })},
		{"jitter", with(ok, func(r *breaker.Rule) { r.Jitter = 0.51 })},
		{"jitter", with(ok, func(r *breaker.Rule) { r.Jitter = math.NaN() })},
		{"probes", with(ok, func(r *breaker.Rule) { r.Probes = -1 })},
		{"probes", with(ok, func(r *breaker.Rule) { r.Probes, r.Successes = 1001, 1 })},
		{"successes", with(ok, func(r *breaker.Rule) { r.Successes = -1 })},
		{"successes", with(ok, func(r *breaker.Rule) { r.Successes = 1001 })},
		{"probeLease", with(ok, func(r *breaker.Rule) { r.ProbeLease = 99 * ms })},
		{"probeLease", with(ok, func(r *breaker.Rule) { r.ProbeLease = 25 * time.Hour })},
	} {
		problems := c.rule.Problems()
		require.Len(t, problems, 1, "%+v", c.rule)
		require.Equal(t, c.field, problems[0].Field)
		require.NotEmpty(t, problems[0].Message)
		require.Equal(t, -1, problems[0].Index)
		require.False(t, problems[0].Warning)
		if c.field == "resource" {
			continue
		}
		require.NotEmpty(t, problems[0].Want)
		_, err := breaker.New(c.rule, 0, nil)
		var faults rule.Problems
		require.True(t, errors.As(err, &faults))
		require.Equal(t, c.field, faults[0].Field)
		require.Equal(t, "breaker", faults[0].Kind)
	}
}

// An error ratio strictly above 1 is in force as written, but never opens.
func TestRuleWarning(t *testing.T) {
	r := breaker.Rule{Resource: rule.Name("pay"), Threshold: 1, Above: true}
	problems := r.Problems()
	require.Len(t, problems, 1)
	require.True(t, problems[0].Warning)
	require.Equal(t, "threshold", problems[0].Field)
	_, err := breaker.New(r, 0, nil)
	require.NoError(t, err)
	r.Trip, r.SlowerThan = breaker.SlowRatio, sec
	require.Empty(t, r.Problems())
}

func TestRuleMeta(t *testing.T) {
	r := breaker.Rule{ID: "a", Resource: rule.Name("pay"), Also: true, Shared: true, Shadow: true}
	require.Equal(t, rule.Meta{ID: "a", Resource: rule.Name("pay"), Also: true, Shared: true, Shadow: true}, r.Meta())
	require.Equal(t, rule.Meta{Resource: rule.Name("b")}, breaker.Rule{Resource: rule.Name("b")}.Meta())
	renamed := r.WithID("b")
	require.Equal(t, "b", renamed.ID)
	require.Equal(t, "a", r.ID)
	require.False(t, r.Equal(renamed))
	require.True(t, r.Equal(renamed.WithID("a")))
}

func TestRuleString(t *testing.T) {
	for want, r := range map[string]breaker.Rule{
		"refuses calls for 5s when at least 50% of the calls of at least 10 in 10s fail; closes after 1 good probe": {Threshold: 0.5},
		"pay: refuses calls to pay.Charge for 1s, doubling up to 2m, ±10% when more than 33.33% of the calls of at least 20 in 1m take longer than 1.5s; closes after 4 good probes, 2 at a time": {
			ID: "pay", Resource: rule.Name("pay.Charge"), Trip: breaker.SlowRatio, SlowerThan: 1500 * ms, Threshold: 1.0 / 3, Above: true, Open: sec, MaxOpen: 2 * time.Minute,
			Jitter: 0.1, Window: time.Minute, MinCalls: 20, Probes: 2, Successes: 4,
		},
		"refuses calls for 5s when at least 100% of the calls in 10s take longer than 1s; closes after 1 good probe": {
			Trip: breaker.SlowRatio, SlowerThan: sec, Threshold: 1, Above: true, MinCalls: 1,
		},
		"a: (in shadow) refuses calls for 1h when at least 5 calls in 10s fail; closes after 1 good probe": {
			ID: "a", Trip: breaker.ErrorCount, Threshold: 5, Shadow: true, Open: time.Hour,
		},
		"refuses calls for 1h30m when more than 5 calls in a row fail; closes after 3 good probes, 3 at a time": {
			Trip: breaker.Consecutive, Threshold: 5, Above: true, Open: 90 * time.Minute, Probes: 3,
		},
	} {
		require.Equal(t, want, r.String())
	}
}

func TestTexts(t *testing.T) {
	for i, name := range []string{"errorRatio", "slowRatio", "errorCount", "consecutive"} {
		testText(t, breaker.Trip(i), name)
	}
	for i, name := range []string{"closed", "open", "halfOpen", "forcedOpen", "forcedClosed", "disabled"} {
		testText(t, breaker.State(i), name)
	}
	require.Len(t, breaker.Trip(0).Values(), 4)
	require.Len(t, breaker.State(0).Values(), 6)

	require.Equal(t, "trip(4)", breaker.Trip(4).String())
	_, err := breaker.Trip(4).MarshalText()
	require.ErrorContains(t, err, "want one of errorRatio, slowRatio, errorCount, consecutive")
	require.Equal(t, "state(6)", breaker.State(6).String())
	_, err = breaker.State(6).MarshalText()
	require.Error(t, err)
	trip, state := breaker.Consecutive, breaker.Disabled
	require.ErrorContains(t, trip.UnmarshalText([]byte("ErrorRatio")), `no such trip: "ErrorRatio"; want one of errorRatio`)
	require.Error(t, state.UnmarshalText(nil))
	require.Equal(t, breaker.Consecutive, trip)
	require.Equal(t, breaker.Disabled, state)
}

func testText[T interface {
	fmt.Stringer
	MarshalText() ([]byte, error)
	Values() []string
}, P interface {
	*T
	UnmarshalText([]byte) error
}](t *testing.T, v T, name string) {
	require.Equal(t, name, v.String())
	require.Contains(t, v.Values(), name)
	text, err := v.MarshalText()
	require.NoError(t, err)
	require.Equal(t, name, string(text))
	var back T
	require.NoError(t, P(&back).UnmarshalText(text))
	require.Equal(t, v, back)
}
