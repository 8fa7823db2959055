package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cordon-go/cordon/cmd/cordon/internal/chart"
	"github.com/cordon-go/cordon/cmd/cordon/internal/trial"
	"github.com/cordon-go/cordon/sim"
	"github.com/cordon-go/cordon/sim/scenario"
)

func newSim(s streams) *cobra.Command {
	var m simulator
	cmd := &cobra.Command{
		Use:   "sim FILE",
		Short: "Try rules out on a simulated service whose instances fall ill",
		Long: `sim plays a scenario (YAML or JSON): a service, its instances with the times at
which they are ill, those who call it, and their rules. It prints what came of
it under cordon, and under whatever else is named by the scenario or --compare:
none (any instance is called), and models of envoy, a50 (gRPC), finagle and
consecutive (five failures in a row). "-" reads the standard input.

Time is virtual, and nothing is left to chance: the same scenario with the same
seed comes out the same. "cordon sim --example" prints one to start from.

It ends with exit code 0 when it ran, 1 when --max-failed or --no-false does not
hold for the first policy, and 2 when the scenario cannot be run.`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case m.example && len(args) > 0:
				return errors.New("--example takes no scenario")
			case !m.example && len(args) != 1:
				return fmt.Errorf("accepts 1 scenario, received %d; see cordon sim --example for one", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if m.example {
				_, err := io.WriteString(s.out, simExample)
				return err
			}
			m.streams = s
			m.flags = cmd.Flags().Changed
			return m.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&m.compare, "compare", nil, "policies to try out as well: "+strings.Join(scenario.Kind("").Values(), ", "))
	f.IntVar(&m.seeds, "seeds", 0, "how many times to run it, with one seed after the other; default: what the scenario says")
	f.Uint64Var(&m.seed, "seed", 0, "the first seed; default: what the scenario says")
	f.StringVar(&m.svg, "svg", "", "write a chart over time of the first run to this file")
	f.BoolVar(&m.events, "events", false, "print what was decided about instances, in the first run")
	f.BoolVar(&m.json, "json", false, "print JSON")
	f.StringVar(&m.maxFailed, "max-failed", "", `end with exit code 1 if a larger share of the calls failed: "0.5%" or 0.005`)
	f.BoolVar(&m.noFalse, "no-false", false, "end with exit code 1 if an instance that was well was put out of service")
	f.BoolVar(&m.example, "example", false, "print an example of a scenario")
	return cmd
}

// simulator plays a scenario as its flags say.
type simulator struct {
	streams
	flags     func(name string) bool // whether a flag is given
	compare   []string
	seeds     int
	seed      uint64
	svg       string
	events    bool
	json      bool
	maxFailed string
	noFalse   bool
	example   bool
}

const maxSimSeeds = 10_000

func (m *simulator) run(ctx context.Context, path string) error {
	if m.flags("seeds") && (m.seeds < 1 || m.seeds > maxSimSeeds) {
		return fmt.Errorf("--seeds is %d, want 1 to %d", m.seeds, maxSimSeeds)
	}
	most, err := parseShare(m.maxFailed)
	if err != nil {
		return err
	}
	file, err := m.load(path)
	if err != nil {
		return err
	}
	for _, w := range file.Warnings {
		fmt.Fprintln(m.err, w)
	}
	trials, err := trial.Run(ctx, file.Scenario, file.Policies, file.Seeds)
	if err != nil {
		return err
	}
	if m.svg != "" {
		if err := m.draw(file, trials); err != nil {
			return err
		}
	}
	report := simReport{file: file, trials: trials, events: m.events}
	if m.json {
		err = writeJSON(m.out, report.toJSON())
	} else {
		err = report.print(m.out)
	}
	if err != nil {
		return err
	}
	return m.judge(&trials[0], most)
}

// load reads the scenario and puts the flags in force.
func (m *simulator) load(path string) (*scenario.File, error) {
	var kinds []scenario.Kind
	for _, name := range m.compare {
		var k scenario.Kind
		if err := k.UnmarshalText([]byte(name)); err != nil {
			return nil, fmt.Errorf("--compare: %w", err)
		}
		kinds = append(kinds, k)
	}
	file, err := m.read(path)
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		file.Compare(k)
	}
	if m.flags("seeds") {
		file.Seeds = m.seeds
	}
	if m.flags("seed") {
		file.Scenario.Seed = m.seed
	}
	return file, nil
}

func (m *simulator) read(path string) (*scenario.File, error) {
	if path != "-" {
		return scenario.Load(path)
	}
	data, err := io.ReadAll(m.in)
	if err != nil {
		return nil, err
	}
	return scenario.Parse("<stdin>", data, os.ReadFile)
}

// draw writes the chart.
func (m *simulator) draw(file *scenario.File, trials []trial.Trial) error {
	results := make([]*sim.Result, len(trials))
	for i := range trials {
		results[i] = trials[i].First
	}
	out, err := os.Create(m.svg)
	if err != nil {
		return err
	}
	err = chart.Write(out, file.Scenario.Name+", seed "+strconv.FormatUint(file.Scenario.Seed, 10), results)
	return errors.Join(err, out.Close())
}

// judge says whether what is asked for holds.
func (m *simulator) judge(t *trial.Trial, most float64) error {
	var broken []error
	if failed := t.Figures.FailedShare(); m.maxFailed != "" && failed > most {
		broken = append(broken, fmt.Errorf("with %s %s of the calls failed; --max-failed is %s", t.Policy, percent(failed), m.maxFailed))
	}
	if n := t.Figures.False; m.noFalse && n > 0 {
		broken = append(broken, fmt.Errorf("with %s instances that were well were put out of service, %d times; --no-false allows none", t.Policy, n))
	}
	if len(broken) == 0 {
		return nil
	}
	return bad{errors.Join(broken...)}
}

// parseShare reads a share, as a number or in percent.
func parseShare(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	number, inPercent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if inPercent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("--max-failed is %q, want a share of the calls as 0.5%% or 0.005", text)
	}
	return share, nil
}
