package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes, the same for every command.
const (
	// exitGood: done, and all is well.
	exitGood = 0
	// exitBad: done, and the answer is no: a rule was refused, a promise did not hold, the gateway did not end cleanly.
	exitBad = 1
	// exitMisuse: could not be done: wrong arguments, something unreadable or unreachable.
	exitMisuse = 2
)

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// errBad ends a command with exitBad after its output has said why.
var errBad = errors.New("the answer is no")

// bad is an error that ends a command with exitBad.
type bad struct{ error }

func (b bad) Is(target error) bool { return target == errBad }
func (b bad) Unwrap() error        { return b.error }

// run runs the command line and returns its exit code. Results go to out, everything else to err.
func run(ctx context.Context, args []string, s streams) int {
	return execute(ctx, newRoot(s), args, s)
}

// execute runs a command, as run does.
func execute(ctx context.Context, root *cobra.Command, args []string, s streams) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitGood
	case err == errBad:
		return exitBad
	}
	fmt.Fprintf(s.err, "cordon: %v\n", err)
	if errors.Is(err, errBad) {
		return exitBad
	}
	return exitMisuse
}

// arguments takes so many arguments, any number where most is negative. The error says what they are.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		_, wants, _ := strings.Cut(cmd.Use, " ")
		return fmt.Errorf("%s given; want %s %s", plural(int64(len(args)), "argument"), cmd.CommandPath(), wants)
	}
}

// newRoot returns the command with all its subcommands.
func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "cordon",
		Short: "Limits, circuit breakers and live rules for Go, on the command line",
		Long: `cordon limits calls, breaks circuits, and takes new rules without a restart.

Start with "cordon demo": it shows all of that on real HTTP traffic and needs nothing.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(
		newDemo(s),
		newGateway(s),
		newCheck(s),
		newConvert(s),
		newRules(s),
		newSim(s),
		newTop(s),
		newPin(s),
		newUnpin(s),
		newVersion(s),
	)
	return root
}
