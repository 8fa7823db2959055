package isolation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
)

func TestRulesDescribeThemselves(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Rule{
		"all: takes instances of {default: true} out of service that fail 5 points more often than their peers, and at 3 times their odds, " +
			"for 5s, doubling up to 5m; at most 50% of them at once, and never the last; lets them in again after 3 good probes, over 15s; " +
			"puts all in service while more than 70% are sick": {ID: "all", Service: rule.Default()},
		"(in shadow) takes instances of orders out of service that fail 10 points more often than their peers, and at 3 times their odds, " +
			"for 5s, doubling up to 5m; at most 30% of them at once, and never the last; lets them in again after 3 good probes, over 30s; " +
			"puts all in service while more than 70% are sick": {Service: rule.Name("orders"), Preset: Careful, Shadow: true},
		"takes instances out of service that fail 5 points more often than their peers, and at 3 times their odds, or that 3 calls in a row do not reach, " +
			"for 2s, doubling up to 5m; at most 50% of them at once, and never the last; lets them in again after 3 good probes, over 5s; " +
			"puts all in service while more than 70% are sick": {Preset: Quick},
		"x: takes instances of x out of service that succeed in less than 95% of at least 20 calls in 10s, " +
			"for 10s; at most 100% of them at once; lets them in again after 1 good probe, over 15s": {
			ID: "x", Service: rule.Name("x"), MinSuccessRate: .95, AbsoluteOnly: true, Base: 10 * time.Second, Max: 10 * time.Second,
			MaxShare: 1, MayEmpty: true, Probes: 1, NoFallback: true,
		},
	} {
		require.Equal(t, want, r.String())
	}
}

func TestStatesAreWrittenAndReadAlike(t *testing.T) {
	t.Parallel()
	for s := InService; s <= Drained; s++ {
		text, err := s.MarshalText()
		require.NoError(t, err)
		var back State
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, s, back)
	}
	s := Held
	require.ErrorContains(t, s.UnmarshalText([]byte("asleep")), `no such state: "asleep"; want one of in service, slow start, quarantined`)
	require.Equal(t, Held, s)
}
