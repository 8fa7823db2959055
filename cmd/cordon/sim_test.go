package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/sim/scenario"
)

func TestSim(t *testing.T) {
	for name, args := range map[string][]string{
		"sim":            {"testdata/sim.yaml"},
		"sim-compare":    {"testdata/sim.yaml", "--compare", "envoy,a50,finagle,consecutive,none", "--seeds", "3"},
		"sim-events":     {"testdata/sim.yaml", "--events", "--seed", "2", "--compare", "none"},
		"sim-json":       {"testdata/sim.yaml", "--json", "--events", "--compare", "none"},
		"sim-bad":        {"testdata/sim-bad.yaml"},
		"sim-missing":    {"testdata/no-such.yaml"},
		"sim-no-policy":  {"testdata/sim.yaml", "--compare", "envoi"},
		"sim-seeds":      {"testdata/sim.yaml", "--seeds", "0"},
		"sim-share":      {"testdata/sim.yaml", "--max-failed", "half"},
		"sim-held":       {"testdata/sim.yaml", "--max-failed", "1%", "--no-false"},
		"sim-not-held":   {"testdata/sim.yaml", "--max-failed", "0.0001", "--no-false"},
		"sim-regions":    {"../../examples/sim/region-lost.yaml", "--events"},
		"sim-overload":   {"../../examples/sim/overload.yaml"},
		"sim-no-file":    {},
		"sim-both":       {"--example", "testdata/sim.yaml"},
		"sim-unwritable": {"testdata/sim.yaml", "--svg", "no-such-folder/x.svg"},
	} {
		t.Run(name, func(t *testing.T) {
			runCordon(t, "", append([]string{"sim"}, args...)...).golden(t, name)
		})
	}
}

// The example that the command prints is a scenario that can be run.
func TestSimExample(t *testing.T) {
	example := runCordon(t, "", "sim", "--example")
	require.Equal(t, exitGood, example.code)
	require.Empty(t, example.err)
	r := runCordon(t, example.out, "sim", "-")
	require.Equal(t, exitGood, r.code, r.err)
	require.Empty(t, r.err)
	require.Contains(t, r.out, "3 runs of each policy, seeds 1 to 3")
	require.Contains(t, r.out, "cordon careful")
}

// All scenarios under examples can be run, and come out the same each time.
func TestSimExamplesRun(t *testing.T) {
	paths, err := filepath.Glob("../../examples/sim/*.yaml")
	require.NoError(t, err)
	ran := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "-rules.yaml") {
			continue
		}
		ran++
		r := runCordon(t, "", "sim", path)
		require.Equal(t, exitGood, r.code, r.err)
		require.Empty(t, r.err)
		require.Equal(t, r, runCordon(t, "", "sim", path))
	}
	require.GreaterOrEqual(t, ran, 5)
}

// The picture in the documentation is what the command writes.
func TestSimPictureIsCurrent(t *testing.T) {
	const picture = "../../docs/img/sim.svg"
	path := filepath.Join(t.TempDir(), "sim.svg")
	r := runCordon(t, "", "sim", "../../examples/sim/one-sick.yaml", "--compare", "none", "--svg", path)
	require.Equal(t, exitGood, r.code, r.err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(picture, got, 0o644))
	}
	want, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.True(t, string(want) == string(got), "%s is not what the command in docs/sim.md writes", picture)
}

func TestSimFromStandardInput(t *testing.T) {
	data, err := os.ReadFile("testdata/sim.yaml")
	require.NoError(t, err)
	require.Equal(t, runCordon(t, "", "sim", "testdata/sim.yaml"), runCordon(t, string(data), "sim", "-"))
	r := runCordon(t, "length: 5", "sim", "-")
	require.Equal(t, exitMisuse, r.code)
	require.Contains(t, r.err, "<stdin>:1:9: length: 5 has no unit")
}

func TestSimRefusesFalseAlarms(t *testing.T) {
	data, err := os.ReadFile("testdata/sim.yaml")
	require.NoError(t, err)
	r := runCordon(t, string(data)+"policies: [envoy, cordon]", "sim", "-", "--no-false", "--seeds", "3")
	require.Equal(t, exitBad, r.code)
	require.Regexp(t, `^cordon: with Envoy instances that were well were put out of service, \d+ times; --no-false allows none\n$`, r.err)
	require.Contains(t, r.out, "cordon", "the table is printed all the same")
}

// A warning is said, and keeps nothing from running.
func TestSimWarns(t *testing.T) {
	data, err := os.ReadFile("testdata/sim.yaml")
	require.NoError(t, err)
	r := runCordon(t, string(data)+"rules: {flow: [{id: a, resource: pay, limit: 1}]}", "sim", "-")
	require.Equal(t, exitGood, r.code)
	require.Contains(t, r.err, "<stdin>:10:8: warning: rules: none of the rules is about what is called here: orders")
	require.Contains(t, r.out, "cordon")
}

func TestSimJSONSaysWhatTheTableSays(t *testing.T) {
	r := runCordon(t, "", "sim", "testdata/sim.yaml", "--json", "--seeds", "2")
	var got simJSON
	require.NoError(t, json.Unmarshal([]byte(r.out), &got))
	require.Equal(t, 2, got.Runs)
	require.Equal(t, float64(300), got.Length)
	p := got.Policies[0]
	require.InDelta(t, float64(p.Failed)/float64(p.Calls), p.FailedShare, 1e-12)
	require.Len(t, p.Instances, 5)
	var tries int64
	for _, in := range p.Instances {
		tries += in.Calls
	}
	require.Equal(t, p.Tries, tries)
	require.Nil(t, p.Events)
	table := runCordon(t, "", "sim", "testdata/sim.yaml", "--seeds", "2").out
	require.Contains(t, table, percent(p.FailedShare))
}

// What a rule in shadow would have done is told as such.
func TestSimOfARuleInShadow(t *testing.T) {
	data, err := os.ReadFile("testdata/sim.yaml")
	require.NoError(t, err)
	in := string(data) + "rules: {isolation: [{id: all, service: {default: true}, shadow: true}]}"
	r := runCordon(t, in, "sim", "-", "--events")
	require.Equal(t, exitGood, r.code, r.err)
	require.Regexp(t, `(?m)^ *cordon \(shadow\) +\d+ `, r.out)
	require.Regexp(t, `(?m)^events with cordon \(shadow\), seed`, r.out)
	_, events, _ := strings.Cut(r.out, "events with")
	require.Equal(t, strings.Count(events, "quarantined"), strings.Count(events, "quarantined (shadow)"))
	require.Positive(t, strings.Count(events, "quarantined (shadow)"))
	var got simJSON
	require.NoError(t, json.Unmarshal([]byte(runCordon(t, in, "sim", "-", "--json", "--events").out), &got))
	require.Equal(t, "cordon (shadow)", got.Policies[0].Policy)
	for _, e := range got.Policies[0].Events {
		require.True(t, e.Shadow)
	}
}

// A client that would wait for ever at an instance that hangs is a fault of the scenario, and no success.
func TestSimOfHangingWithoutTimeout(t *testing.T) {
	r := runCordon(t, `{"cordon-sim": 1, "length": "10s", "instances": [{"base": {"hangs": true}}, {}], "clients": [{"load": 10}]}`, "sim", "-", "--max-failed", "1%")
	require.Equal(t, exitMisuse, r.code)
	require.Contains(t, r.err, "clients[0].timeout: is missing, and instances[0].base hangs: its calls would never end")
}

func TestParseShare(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "0.5%": .005, "5 %": .05, "0.5": .5, "100%": 1, "0": 0} {
		got, err := parseShare(text)
		require.NoError(t, err, text)
		require.InDelta(t, want, got, 1e-12, text)
	}
	for _, text := range []string{"%", "1.1", "101%", "-1%", "NaN", "x"} {
		_, err := parseShare(text)
		require.ErrorContains(t, err, "want a share of the calls", text)
	}
}

// Large services are not listed to their last instance.
func TestSimTableIsShort(t *testing.T) {
	r := runCordon(t, `{"cordon-sim": 1, "length": "10s", "instances": [{"count": 100}], "clients": [{"load": 10}]}`, "sim", "-")
	require.Equal(t, exitGood, r.code, r.err)
	require.Contains(t, r.out, "… and 60 more, which --json has")
	require.Less(t, strings.Count(r.out, "\n"), 60)
}

// Every kind of policy that can be compared is named in the help.
func TestSimHelpNamesThePolicies(t *testing.T) {
	help := runCordon(t, "", "sim", "--help").out
	for _, kind := range scenario.Kind("").Values() {
		require.Contains(t, help, kind)
	}
}
