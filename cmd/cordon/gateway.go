package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"github.com/cordon-go/cordon/cmd/cordon/internal/fromnacos"
	"github.com/cordon-go/cordon/gateway"
	"github.com/cordon-go/cordon/rule"
)

func newGateway(s streams) *cobra.Command {
	var config, format string
	var level slog.Level
	cmd := &cobra.Command{
		Use:   "gateway -c FILE",
		Short: "Run a gateway in front of HTTP services",
		Long: `gateway runs a reverse proxy whose calls are held to rules, until it gets SIGINT
or SIGTERM. Then it takes no new connection, lets what it is serving end, and
stops. It logs to the standard error.

It ends with exit code 0 when it was told to, 1 when its configuration is
refused or it had to stop serving, and 2 when the configuration cannot be read
or an address cannot be listened on.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logger, err := newLogger(s.err, format, level)
			if err != nil {
				return err
			}
			return runGateway(cmd.Context(), config, logger)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&config, "config", "c", "", "the configuration")
	flags.StringVar(&format, "log", "text", "how to log: text or json")
	flags.TextVar(&level, "log-level", slog.LevelInfo, "what to log: debug, info, warn or error")
	if err := cmd.MarkFlagRequired("config"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

// newLogger returns a logger to w.
func newLogger(w io.Writer, format string, level slog.Level) (*slog.Logger, error) {
	opts := &slog.HandlerOptions{Level: level}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, fmt.Errorf("--log is %q, want text or json", format)
}

// runGateway runs the gateway with the configuration in that file until ctx is done.
func runGateway(ctx context.Context, config string, logger *slog.Logger) error {
	c, err := gateway.Load(config)
	if err != nil {
		var refused rule.Problems
		if errors.As(err, &refused) {
			return bad{err}
		}
		return err
	}
	g, err := gateway.New(c, gateway.WithLogger(logger), fromnacos.Option(logger))
	if err != nil {
		return bad{err}
	}
	err = g.Run(ctx)
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "listen" {
		return err
	}
	if err != nil {
		return bad{err}
	}
	logger.Info("gateway stopped")
	return nil
}
