package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cordon-go/cordon/cmd/cordon/internal/rulefile"
	"github.com/cordon-go/cordon/cmd/cordon/internal/wholefile"
)

func (r *rules) pullCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "pull ADDRESS",
		Short: "Print or save a document as it is",
		Long: `pull prints a document byte for byte, or writes it into the file that -o names. What
it holds is said on the standard error.

It ends with exit code 0 when it has the document, whatever is in it, and 2 when
it cannot be had or written.`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return r.pull(cmd.Context(), args[0], output) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file to write to, instead of the standard output")
	return cmd
}

func (r *rules) pull(ctx context.Context, address, output string) error {
	s, err := r.read(ctx, address)
	if err != nil {
		return err
	}
	if output == "" {
		_, err = r.out.Write(s.content.Data)
	} else if err = wholefile.Write(output, s.content.Data, 0o644); err != nil {
		err = fmt.Errorf("writing the rules: %w", err)
	}
	if err != nil {
		return err
	}
	d, err := s.decode(r.as)
	switch {
	case rulefile.IsUnclear(err):
		fmt.Fprintf(r.err, "%s: %d bytes\n", s.name, len(s.content.Data))
	case err != nil:
		return err
	default:
		fmt.Fprintf(r.err, "%s: %s: %s\n", s.name, s.about(), d.Verdict())
	}
	return nil
}
