package gateway

import (
	"log/slog"
	"net"
	"net/http"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
)

// Option wires a gateway.
type Option interface{ apply(*options) }

type optionFunc func(*options)

func (f optionFunc) apply(o *options) { f(o) }

type options struct {
	logger        *slog.Logger
	clk           clock.Clock
	engine        []cordon.Option
	metrics       func(*cordon.Engine) http.Handler
	listener      net.Listener
	adminListener net.Listener
	nacos         func(Nacos) (NacosClient, error)
}

// WithLogger sets the logger, for the engine too; default: none. Each kind of message is logged at most every 5s; the next one
// tells how many were skipped.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(o *options) { o.logger = l })
}

// WithClock sets the clock of the engine, the events and the grace period; default clock.System(). Connections time out by the operating
// system's.
func WithClock(c clock.Clock) Option {
	return optionFunc(func(o *options) { o.clk = c })
}

// WithEngine adds options of the engine that the gateway makes: observers, checkers, bounds.
func WithEngine(opts ...cordon.Option) Option {
	return optionFunc(func(o *options) { o.engine = append(o.engine, opts...) })
}

// WithMetrics sets what the admin handler serves at /metrics; f is called once, with the gateway's engine.
func WithMetrics(f func(*cordon.Engine) http.Handler) Option {
	return optionFunc(func(o *options) { o.metrics = f })
}

// WithListener makes Run serve on l instead of Config.Listen; Run closes it.
func WithListener(l net.Listener) Option {
	return optionFunc(func(o *options) { o.listener = l })
}

// WithAdminListener makes Run serve the admin handler on l instead of Config.Admin; Run closes it.
func WithAdminListener(l net.Listener) Option {
	return optionFunc(func(o *options) { o.adminListener = l })
}
