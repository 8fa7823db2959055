package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cordon-go/cordon/gateway"
	"github.com/cordon-go/cordon/rule"
)

func newPin(s streams) *cobra.Command {
	p := pinner{streams: s, method: http.MethodPost}
	cmd := &cobra.Command{
		Use:   "pin SERVICE ADDRESS in|out",
		Short: "Keep an upstream of a running gateway in service, or out of it, by hand",
		Long: `pin takes an upstream of a running gateway out of service, or keeps it in
service whatever becomes of its requests: for a time, or until "cordon unpin".
SERVICE is the resource of the upstream's routes, and ADDRESS its URL; "cordon
top" shows both. The gateway's configuration must say adminWrite: true.

It ends with exit code 0 when it is done, 1 when the gateway refuses, and 2 when
there is no gateway at that address.`,
		Args: arguments(3, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("for") && p.pin.For <= 0 {
				return fmt.Errorf("--for is %v, want a time above 0", p.pin.For)
			}
			p.pin.Service, p.pin.Address, p.pin.State = args[0], args[1], args[2]
			return p.run(cmd.Context())
		},
	}
	cmd.Flags().DurationVar(&p.pin.For, "for", 0, "how long; default: until it is unpinned, or the gateway is restarted")
	cmd.Flags().StringVar(&p.admin, "admin", defaultAdmin, "the gateway's administration address")
	return cmd
}

func newUnpin(s streams) *cobra.Command {
	p := pinner{streams: s, method: http.MethodDelete}
	cmd := &cobra.Command{
		Use:   "unpin SERVICE ADDRESS",
		Short: "End what cordon pin began",
		Long: `unpin ends what "cordon pin" began. An upstream that was out of service gets its
requests back by and by.

It ends with exit code 0 when it is done, 1 when the gateway refuses, and 2 when
there is no gateway at that address.`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.pin.Service, p.pin.Address = args[0], args[1]
			return p.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&p.admin, "admin", defaultAdmin, "the gateway's administration address")
	return cmd
}

// pinner changes a pin at one gateway.
type pinner struct {
	streams
	admin  string
	method string
	pin    gateway.Pin
}

// adminPatience is how long a gateway's administration may take to answer.
const adminPatience = 5 * time.Second

func (p *pinner) run(ctx context.Context) error {
	address, err := adminURL(p.admin, "pin")
	if err != nil {
		return err
	}
	document, err := rule.Encode(p.pin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, adminPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, p.method, address, bytes.NewReader(document.JSON()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking the gateway: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("asking the gateway: %w", err)
	}
	text := strings.TrimSpace(string(body))
	switch response.StatusCode {
	case http.StatusOK:
		_, err = fmt.Fprintln(p.out, text)
		return err
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict:
		return bad{errors.New(text)}
	}
	return fmt.Errorf("asking the gateway: %s answers %s", address, response.Status)
}
