package nethttp_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newEngine(t testing.TB, rules cordon.Rules, opts ...cordon.Option) *cordon.Engine {
	t.Helper()
	eng, err := cordon.New(append(opts, cordon.WithRules(rules))...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	return eng
}

func atOnce(resource string, limit int) cordon.Rules {
	return cordon.Rules{Concurrency: []flow.ConcurrencyRule{{ID: "at-once", Resource: rule.Name(resource), Limit: limit}}}
}

// perDay limits so that no test ever sees the interval end.
func perDay(resource string, limit float64) cordon.Rules {
	return cordon.Rules{Flow: []flow.Rule{{ID: "per-day", Resource: rule.Name(resource), Limit: limit, Per: day}}}
}

func failuresInRow(resource string, n float64) cordon.Rules {
	return cordon.Rules{Breaker: []breaker.Rule{{
		ID: "in-row", Resource: rule.Name(resource), Trip: breaker.Consecutive, Threshold: n, Open: day,
	}}}
}

// counts is what a resource has seen: passed, succeeded, failed, ignored, in flight.
type counts struct{ passed, succeeded, failed, ignored, inFlight int64 }

func countsOf(eng *cordon.Engine, resource string) counts {
	for _, r := range eng.Snapshot().Resources {
		if r.Name == resource {
			return counts{r.Passed, r.Succeeded, r.Failed, r.Ignored, r.InFlight}
		}
	}
	return counts{}
}

func ended(o cordon.Outcome) counts {
	switch o {
	case cordon.Success:
		return counts{passed: 1, succeeded: 1}
	case cordon.Failure:
		return counts{passed: 1, failed: 1}
	default:
		return counts{passed: 1, ignored: 1}
	}
}

func resources(eng *cordon.Engine) []string {
	var names []string
	for _, r := range eng.Snapshot().Resources {
		names = append(names, r.Name)
	}
	return names
}
