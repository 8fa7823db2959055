package main

import (
	"github.com/spf13/cobra"

	"github.com/cordon-go/cordon/cmd/cordon/internal/demo"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
)

func newDemo(s streams) *cobra.Command {
	var opts demo.Options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show on real HTTP traffic what cordon promises, and whether it holds",
		Long: `demo starts a service of five instances on the loopback interface, called with
isolation and without, and four services with a gateway in front of them and
callers that send more than is allowed. It switches faults on and off and edits
the rule file while calls pass, and judges by the services' own books whether
every promise held. It takes about 40 s and needs nothing but this program.

With --nacos the rules are kept on a Nacos server instead of in a file, under a
name of their own that is deleted at the end: published there, watched by the
gateway, edited and spoilt while calls pass. scripts/nacos start runs a server.

It ends with exit code 0 when all promises held and 1 when one did not.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			summary, err := demo.Run(cmd.Context(), screen.New(s.out), opts)
			if err != nil {
				return bad{err}
			}
			if len(summary.Broken()) > 0 {
				return errBad
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&opts.Nacos, "nacos", "", "keep the rules on the Nacos server at this `ADDRESS`, as 127.0.0.1:8848, instead of in a file")
	cmd.Flags().BoolVar(&opts.Keep, "keep", false, "keep everything running afterwards, to edit the rules and call the gateway by hand")
	return cmd
}
