package nacos

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cordon-go/cordon/clock"
)

const (
	// loginPause is how long a login that failed, or a token just got, stands before there is another login.
	loginPause = 2 * time.Second
	// maxLoginAnswer is how much of an answer to a login is read.
	maxLoginAnswer = 1 << 20
	// maxReason is how much of an answer's text is shown.
	maxReason = 200
)

// A login gives the token that goes with every request.
type login struct {
	username, password string
	// fixed is a token got elsewhere.
	fixed   string
	servers []server
	timeout time.Duration
	clock   clock.Clock
	client  *http.Client

	busy chan struct{} // holds one while somebody logs in or reads what follows
	// token is the newest one, asked for at got, to be renewed at renew, of no use from until on (0: for ever).
	token             string
	got, renew, until time.Duration
	// err is why the last login failed, at tried.
	err   error
	tried time.Duration
}

// newLogin returns a login that opens its sockets through network.
func newLogin(c Config, servers []server, certs *certificates, network func(context.Context, string) (net.Conn, error)) *login {
	return &login{
		username: c.Username,
		password: c.Password,
		fixed:    c.AccessToken,
		servers:  servers,
		timeout:  c.Timeout,
		clock:    c.Clock,
		busy:     make(chan struct{}, 1),
		client: &http.Client{
			// A login is rare, so no connection is kept for the next.
			Transport: &http.Transport{
				DisableKeepAlives: true,
				DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return network(ctx, address) },
				DialTLSContext:    secured(certs, network),
			},
			// The password goes nowhere but to the servers named.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// secured opens sockets with TLS.
func secured(certs *certificates, network func(context.Context, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		socket, err := network(ctx, address)
		if err != nil {
			return nil, err
		}
		config, _ := certs.config() // that older ones are used was told when gRPC was connected
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(address)
		}
		conn := tls.Client(socket, config)
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = socket.Close()
			return nil, err
		}
		return conn, nil
	}
}

// current returns the token for a request to s, "" if none is needed, and logs in if there is none or it is about to run out.
func (l *login) current(ctx context.Context, s server) (string, error) {
	if l.username == "" {
		return l.fixed, nil
	}
	return l.obtain(ctx, s, "")
}

// another returns a token in place of one that was refused; the same if no other is to be had, since it was got just now or elsewhere.
func (l *login) another(ctx context.Context, s server, refused string) (string, error) {
	if l.username == "" {
		return refused, nil
	}
	return l.obtain(ctx, s, refused)
}

// obtain returns a token that is not the refused one, unless that was got just now.
func (l *login) obtain(ctx context.Context, s server, refused string) (string, error) {
	select {
	case l.busy <- struct{}{}:
		defer func() { <-l.busy }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	now := l.clock.Now()
	held := l.token != "" && (l.until == 0 || now < l.until)
	fresh := held && (l.renew == 0 || now < l.renew)
	if fresh && (l.token != refused || now-l.got < loginPause) {
		return l.token, nil
	}
	if l.err != nil && now-l.tried < loginPause {
		if held && l.token != refused {
			return l.token, nil
		}
		return "", l.err
	}
	err := l.try(ctx, s)
	if ctx.Err() != nil {
		return "", fmt.Errorf("login: %w", context.Cause(ctx)) // says nothing of the server
	}
	l.err, l.tried = err, l.clock.Now()
	if err != nil && (!held || l.token == refused) {
		return "", err
	}
	return l.token, nil
}

// try logs in at the server in use, or else at another. The caller holds l.busy.
func (l *login) try(ctx context.Context, first server) error {
	var all error
	for i, s := range append([]server{first}, l.servers...) {
		if i > 0 && s == first {
			continue
		}
		err := l.at(ctx, s)
		if err == nil {
			return nil
		}
		all = also(all, fmt.Errorf("login as %s at %s: %w", l.username, s.login, err))
	}
	return all
}

// at logs in at one server.
func (l *login) at(ctx context.Context, s server) error {
	ctx, stop := within(ctx, l.clock, l.timeout)
	defer stop()
	form := url.Values{"username": {l.username}, "password": {l.password}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.login, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	asked := l.clock.Now()
	resp, err := l.client.Do(req)
	if err != nil {
		return plain(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLoginAnswer))
	if err != nil {
		return plain(ctx, err)
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: %s: %s", ErrForbidden, resp.Status, shortened(body))
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", resp.Status, shortened(body))
	}
	var answer struct {
		AccessToken string  `json:"accessToken"`
		TokenTTL    float64 `json:"tokenTtl"` // seconds
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	if answer.AccessToken == "" {
		return errors.New("the answer has no accessToken")
	}
	l.keep(answer.AccessToken, answer.TokenTTL, asked)
	return nil
}

// keep takes a token that is good for ttl seconds. The caller holds l.busy.
func (l *login) keep(token string, ttl float64, asked time.Duration) {
	l.token, l.got, l.renew, l.until = token, l.clock.Now(), 0, 0
	if ttl > 0 && ttl < (100*365*24*time.Hour).Seconds() {
		life := time.Duration(ttl * float64(time.Second))
		l.until, l.renew = asked+life, asked+life*4/5
	}
}

// plain takes the URL, which is told anyway, from an error of the HTTP client.
func plain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// shortened returns the beginning of an answer's text, for messages.
func shortened(body []byte) string {
	text := strings.Join(strings.Fields(string(body)), " ")
	if len(text) > maxReason {
		return strings.ToValidUTF8(text[:maxReason], "") + "..."
	}
	return text
}
