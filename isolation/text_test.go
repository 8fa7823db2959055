package isolation

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
)

func TestRulesDescribeThemselves(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Rule{
		"all: takes instances of {default: true} out of service that fail 5 points more often than their peers, and at 3 times their odds, " +
			"for 5s, doubling up to 5m; at most 50% of them at once, rounded up, and never the last; lets them in again after 3 good probes, over 15s; " +
			"puts all in service while more than 70% are sick": {ID: "all", Service: rule.Default()},
		"(in shadow) takes instances of orders out of service that fail 10 points more often than their peers, and at 3 times their odds, " +
			"for 5s, doubling up to 5m; at most 30% of them at once, rounded up, and never the last; lets them in again after 3 good probes, over 30s; " +
			"puts all in service while more than 70% are sick; preset careful": {Service: rule.Name("orders"), Preset: Careful, Shadow: true},
		"takes instances out of service that fail 5 points more often than their peers, and at 3 times their odds, or that 3 calls in a row do not reach, " +
			"for 2s, doubling up to 5m; at most 50% of them at once, rounded up, and never the last; lets them in again after 3 good probes, over 5s; " +
			"puts all in service while more than 70% are sick; preset quick": {Preset: Quick},
		"x: takes instances of x out of service that succeed in less than 95% of at least 20 calls in 10s, " +
			"for 10s; at most 100% of them at once; lets them in again after 1 good probe, over 15s": {
			ID: "x", Service: rule.Name("x"), MinSuccessRate: .95, AbsoluteOnly: true, Base: 10 * time.Second, Max: 10 * time.Second,
			MaxShare: 1, MayEmpty: true, Probes: 1, NoFallback: true,
		},
	} {
		require.Equal(t, want, r.String())
	}
}

// An edit of any field is to be seen, and a default that is spelled out is none.
func TestEveryEditIsDescribed(t *testing.T) {
	t.Parallel()
	require.Contains(t, Rule{Preset: Careful, Evidence: 20, MinFailures: 20, ProbeEvery: sec, RegionSwitch: true, RateRef: 1e6}.String(),
		" are sick; preset careful, evidence 20, rateRef 1000000, minFailures 20, probeEvery 1s, regionSwitch")
	for _, preset := range []Preset{Default, Careful, Quick} {
		plain := Rule{Service: rule.Name("orders"), Preset: preset}
		require.Equal(t, plain.String(), plain.WithDefaults().String())
		for _, base := range []Rule{plain, {Preset: preset, Service: plain.Service, MinSuccessRate: .9, AbsoluteOnly: true, NoFallback: true}} {
			for i := range reflect.TypeFor[Rule]().NumField() {
				r := base
				switch f := reflect.ValueOf(&r).Elem().Field(i); v := f.Interface().(type) {
				case bool:
					f.SetBool(!v)
				case int:
					f.SetInt(7777)
				case float64:
					f.SetFloat(.43)
				case time.Duration:
					f.SetInt(int64(7 * time.Minute))
				default:
					continue
				}
				if needs := reflect.TypeFor[Rule]().Field(i).Name; needs == "AbsoluteOnly" && r.MinSuccessRate == 0 || (needs == "Window" || needs == "MinCalls") && r.MinSuccessRate == 0 {
					continue // a fault
				}
				require.NotEqual(t, base.String(), r.String(), reflect.TypeFor[Rule]().Field(i).Name)
			}
		}
	}
}

func TestStatesAreWrittenAndReadAlike(t *testing.T) {
	t.Parallel()
	for s := InService; s <= Unreachable; s++ {
		text, err := s.MarshalText()
		require.NoError(t, err)
		var back State
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, s, back)
	}
	require.Equal(t, "state(9)", (Unreachable + 1).String())
	s := Held
	require.ErrorContains(t, s.UnmarshalText([]byte("asleep")), `no such state: "asleep"; want one of in service, slow start, quarantined`)
	require.Equal(t, Held, s)
}
