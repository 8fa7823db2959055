package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/gateway"
)

// defaultAdmin is where a gateway's administration listens unless told otherwise.
const defaultAdmin = "127.0.0.1:8081"

func newTop(s streams) *cobra.Command {
	var t top
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch a running gateway: what passes, what is refused, how its rules stand",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if t.interval < 100*time.Millisecond {
				return fmt.Errorf("--interval is %v, want at least 100ms", t.interval)
			}
			t.screen = screen.New(s.out)
			t.client = &http.Client{Timeout: adminPatience}
			return t.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&t.admin, "admin", defaultAdmin, "the gateway's administration address")
	cmd.Flags().BoolVar(&t.once, "once", false, "look twice, an interval apart, print once and end")
	cmd.Flags().DurationVar(&t.interval, "interval", time.Second, "how often to look")
	return cmd
}

// top watches one gateway.
type top struct {
	admin    string
	once     bool
	interval time.Duration
	screen   *screen.Screen
	client   *http.Client
}

// run shows the gateway until ctx is done, or once. Only the first look must succeed: a gateway may be restarted while it is watched.
func (t *top) run(ctx context.Context) error {
	last, err := t.look(ctx)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(t.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now, err := t.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && t.once:
			return err
		case err != nil:
			t.put([]string{t.screen.Paint(screen.Red, err.Error())})
			continue
		}
		t.put(topTable(t.screen, last, now))
		if err := t.screen.Err(); err != nil || t.once {
			return err
		}
		last = now
	}
}

// put shows lines in place on a terminal, or one block after the other.
func (t *top) put(lines []string) {
	if t.screen.Live() && !t.once {
		t.screen.Draw(lines...)
		return
	}
	t.screen.Printf("%s", strings.Join(append(lines, ""), "\n"))
}

// look asks the gateway how it is.
func (t *top) look(ctx context.Context) (gateway.Status, error) {
	var status gateway.Status
	address, err := adminURL(t.admin, "/")
	if err != nil {
		return status, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return status, err
	}
	response, err := t.client.Do(request)
	if err != nil {
		return status, fmt.Errorf("asking the gateway: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 256<<20))
	if err != nil {
		return status, fmt.Errorf("asking the gateway: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return status, fmt.Errorf("asking the gateway: %s answers %s", address, response.Status)
	}
	if err := json.Unmarshal(body, &status); err != nil {
		return status, fmt.Errorf("asking the gateway: %s does not answer with a gateway's status: %w", address, err)
	}
	if status.Engine.Time.IsZero() {
		return status, fmt.Errorf("asking the gateway: %s answers with something else than a gateway's status; is this the administration address?", address)
	}
	return status, nil
}

// adminURL is where the gateway with that administration address, given with or without scheme, has something.
func adminURL(admin, path string) (string, error) {
	if !strings.Contains(admin, "://") {
		admin = "http://" + admin
	}
	u, err := url.Parse(admin)
	if err != nil {
		return "", fmt.Errorf("--admin: %w", err)
	}
	if u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", errors.New("--admin: want host:port, or an http or https address")
	}
	return u.JoinPath(path).String(), nil
}
