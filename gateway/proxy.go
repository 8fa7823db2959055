package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
)

// A route serves the requests of one Route.
type route struct {
	Route
	maxBody int64
	guarded http.Handler // the engine, and behind it the proxy
	log     *limitedLog
}

func newRoute(r Route, c Config, transport http.RoundTripper, eng *cordon.Engine, log *limitedLog, events *events) (*route, error) {
	pool, err := nethttp.NewPool(eng, r.Resource, targets(r.Upstreams), nethttp.PoolConfig{
		Base:         transport,
		Name:         r.Name,
		Balance:      balance.Options{Region: c.Region, Strategy: balance.Strategy(r.Balance), OnRegion: events.region},
		HashBy:       r.hashBy(),
		Retry:        r.Retry,
		PreserveHost: r.PreserveHost,
		Outcome:      upstreamOutcome,
	})
	if err != nil {
		return nil, err
	}
	rt := &route{Route: r, maxBody: c.Limits.BodyBytes, log: log}
	trusted := parsePrefixes(c.TrustedProxies)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { rt.rewrite(p, c.TrustForwarded || isFrom(p.In, trusted)) },
		Transport:     pool,
		FlushInterval: -1, // what has come is passed on at once
		ErrorHandler:  rt.fail,
		// What it refuses is closed; the proxy itself leaves such a connection to nobody.
		ModifyResponse: checkSwitch,
		ErrorLog:       log.std("proxy of route " + r.Name),
		BufferPool:     &buffers{},
	}
	opts := []nethttp.Option{
		nethttp.WithName(func(*http.Request) string { return r.Resource }),
		nethttp.WithOutcome(outcome),
		nethttp.WithTrustedProxies(trusted...),
		nethttp.WithAPIGroups(),
	}
	if r.PathPattern != "" {
		opts = append(opts, nethttp.WithPathPattern(r.PathPattern))
	}
	switch {
	case r.Origin != "":
		opts = append(opts, nethttp.WithOrigin(func(*http.Request) string { return r.Origin }))
	case c.OriginHeader != "":
		opts = append(opts, nethttp.WithOrigin(nethttp.Header(c.OriginHeader)))
	}
	rt.guarded = nethttp.Middleware(eng, opts...)(proxy)
	return rt, nil
}

// ServeHTTP answers what is the client's fault and can be known beforehand without asking the engine.
func (rt *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if up := r.Header.Get("Upgrade"); strings.ContainsFunc(up, func(c rune) bool { return c < ' ' || c > '~' }) {
		nethttp.Problem{Status: http.StatusBadRequest, Detail: "The protocol asked for has no valid name."}.Write(w)
		return
	}
	if rt.maxBody >= 0 && r.ContentLength > rt.maxBody {
		w.Header().Set("Connection", "close")
		nethttp.Problem{Status: http.StatusRequestEntityTooLarge}.Write(w)
		rt.log.log(slog.LevelInfo, "request body too large", rt.Name, slog.String("route", rt.Name))
		return
	}
	if r.Body != nil && r.Body != http.NoBody {
		if rt.maxBody >= 0 {
			r.Body = http.MaxBytesReader(w, r.Body, rt.maxBody)
		}
		r = withClientBody(r)
	}
	rt.guarded.ServeHTTP(w, r)
}

// outcome is the middleware's, but for what the client did to its own request.
func outcome(e nethttp.Ending) cordon.Outcome {
	if _, ok := clientFailure(e.Request.Context()); ok {
		return cordon.Ignored
	}
	return e.Default
}

// upstreamOutcome is the pool's, but for what the client did to its own request: no upstream is to blame for it.
func upstreamOutcome(a nethttp.Attempt) isolation.Outcome {
	if a.Err != nil {
		if _, ok := clientFailure(a.Request.Context()); ok {
			return isolation.Ignored
		}
	}
	return a.Default
}

// rewrite makes the request to be sent out of the one received; its upstream is chosen later.
func (rt *route) rewrite(p *httputil.ProxyRequest, trust bool) {
	if rt.StripPrefix {
		stripURL(p.Out, cleanPrefix(rt.Prefix))
	}
	if !trust {
		p.SetXForwarded()
		return
	}
	const chain = "X-Forwarded-For"
	if prior := p.In.Header[chain]; len(prior) > 0 {
		p.Out.Header[chain] = append([]string(nil), prior...)
	}
	p.SetXForwarded()
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v := p.In.Header.Get(name); v != "" {
			p.Out.Header.Set(name, v)
		}
	}
}

// fail answers a request that no upstream answered. out is the request that was to be sent.
func (rt *route) fail(w http.ResponseWriter, out *http.Request, err error) {
	status, level := blame(out.Context(), err)
	rt.log.log(level, "request failed", fmt.Sprint(rt.Name, " ", status),
		slog.String("route", rt.Name), slog.Int("status", status), slog.Any("error", err))
	nethttp.Problem{Status: status, Title: statusTitle(status)}.Write(w)
}

// blame finds who is to blame for an exchange without an answer: the client (4xx, of which 499 reaches nobody), or the upstream.
func blame(ctx context.Context, err error) (status int, level slog.Level) {
	var timeout net.Error
	if status, ok := clientFailure(ctx); ok {
		return status, slog.LevelInfo
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nethttp.StatusClientClosed, slog.LevelInfo
	case errors.Is(err, isolation.ErrNoInstance), errors.Is(err, isolation.ErrAllOut):
		return http.StatusServiceUnavailable, slog.LevelWarn
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(ctx.Err(), context.DeadlineExceeded):
		return http.StatusGatewayTimeout, slog.LevelWarn
	}
	return http.StatusBadGateway, slog.LevelWarn
}

func statusTitle(status int) string {
	if status == nethttp.StatusClientClosed {
		return "Client Closed Request"
	}
	return http.StatusText(status)
}

// buffers is the pool that the proxy copies through.
type buffers struct{ pool sync.Pool }

const bufferSize = 32 << 10

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return make([]byte, bufferSize)
}

func (b *buffers) Put(p []byte) {
	if len(p) == bufferSize {
		b.pool.Put((*[bufferSize]byte)(p))
	}
}

// checkSwitch refuses an answer that switches to another protocol than was asked for.
func checkSwitch(res *http.Response) error {
	if res.StatusCode != http.StatusSwitchingProtocols {
		return nil
	}
	asked, got := res.Request.Header.Get("Upgrade"), res.Header.Get("Upgrade")
	announced := slices.ContainsFunc(res.Header["Connection"], func(v string) bool {
		return slices.ContainsFunc(strings.Split(v, ","), func(token string) bool { return strings.EqualFold(strings.TrimSpace(token), "upgrade") })
	})
	if asked == "" || !announced || !strings.EqualFold(asked, got) {
		return fmt.Errorf("the upstream switched to protocol %q, asked for was %q", got, asked)
	}
	return nil
}
