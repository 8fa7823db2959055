package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/rule"
)

// A Gateway is a reverse proxy with an engine in front of its upstreams. It is safe for concurrent use.
type Gateway struct {
	cfg        Config
	opts       options
	eng        *cordon.Engine
	log        *limitedLog
	events     *events
	table      *table
	transports []*http.Transport
	watches    []watch
	nacos      NacosClient // nil without
	admin      http.Handler
	flight     flight
	state      atomic.Int32 // a state
	unrouted   atomic.Int64 // requests that no route took
	advice     advice
	close      func() error
}

// New returns a gateway. The error holds rule.Problems if the configuration is faulty.
//
// It starts watching what rules are taken from, and waits a moment (at most 5s) for them to be in force. A file that is missing or
// faulty, or a server that cannot be reached, is no error: it is logged, and put right by what the source holds later; until rules of each have been
// applied once, be it from a last-good file, the gateway serves, but says that it is not ready.
//
// Close it, or Run it: Run closes it when it ends.
func New(cfg Config, opts ...Option) (*Gateway, error) {
	if problems := cfg.problems(); len(problems) > 0 {
		return nil, fmt.Errorf("gateway: %w", problems)
	}
	o := options{clk: clock.System()}
	for _, opt := range opts {
		opt.apply(&o)
	}
	if cfg.Nacos.given() && o.nacos == nil {
		return nil, errNoNacos
	}
	g := &Gateway{cfg: cfg.withDefaults(), opts: o}
	g.log = newLimitedLog(o.logger, o.clk)
	g.events = newEvents(o.clk, g.log)
	g.advice = advice{clk: o.clk, check: g.advise}
	engineOpts := []cordon.Option{
		cordon.WithClock(o.clk), cordon.WithObserver(g.events.observer()),
		cordon.WithObserver(cordon.Observer{Report: func(rule.Report) { g.advice.rulesCame() }}),
		cordon.WithMaxBody(g.cfg.Limits.ParamBodyBytes),
	}
	if o.logger != nil {
		engineOpts = append(engineOpts, cordon.WithLogger(o.logger))
	}
	eng, err := cordon.New(append(engineOpts, o.engine...)...)
	if err != nil {
		return nil, err
	}
	g.eng = eng
	g.close = sync.OnceValue(g.shut)
	g.admin = g.adminHandler()
	routes, err := g.routes()
	if err == nil {
		g.table = newTable(routes)
		err = g.watch()
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	g.warnOfRegion()
	g.advice.begin()
	return g, nil
}

// routes builds the routes, and the transports that they share.
func (g *Gateway) routes() ([]*route, error) {
	shared := map[RouteTimeouts]*http.Transport{}
	var routes []*route
	for _, r := range g.cfg.Routes {
		transport := shared[r.Timeouts]
		if transport == nil {
			transport = newTransport(g.cfg.Timeouts, r.Timeouts, g.cfg.Limits)
			shared[r.Timeouts] = transport
			g.transports = append(g.transports, transport)
		}
		rt, err := newRoute(r, g.cfg, transport, g.eng, g.log, g.events)
		if err != nil {
			return nil, err
		}
		routes = append(routes, rt)
	}
	return routes, nil
}

// warnOfRegion warns if no upstream is where the gateway is: mostly a misspelt name, which would send requests anywhere.
func (g *Gateway) warnOfRegion() {
	if g.cfg.Region == "" {
		return
	}
	for _, r := range g.cfg.Routes {
		if slices.ContainsFunc(r.Upstreams, func(u Upstream) bool { return u.Region == g.cfg.Region }) {
			return
		}
	}
	g.warn("no upstream is in the gateway's region", g.cfg.Region)
}

// warn puts a warning among the events and into the log.
func (g *Gateway) warn(msg, about string) {
	g.events.change(Event{Time: g.opts.clk.Wall(g.opts.clk.Now()), What: "warning", Text: msg + ": " + about})
	g.log.log(slog.LevelWarn, msg, about, slog.String("about", about))
}

// advise warns of rules that can do nothing here: mostly a misspelt name, which would leave a route unprotected.
func (g *Gateway) advise() {
	g.warnOfRules("no route has the resource of these rules", g.idleRules())
	g.warnOfRules("no route takes requests of these groups", g.idleGroups())
	g.warnOfRules("requests through the gateway have no origin for these rules: set originHeader, or a route's origin", g.originlessRules())
	g.warnOfRules("requests through the gateway have no value for these rules", g.valuelessRules())
}

// warnOfRules warns of rules if there are any, once as long as they are the same.
func (g *Gateway) warnOfRules(msg string, rules []string) {
	text := strings.Join(rules[:min(len(rules), 10)], ", ")
	if more := len(rules) - 10; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if g.advice.isNews(msg, text) && text != "" {
		g.warn(msg, text)
	}
}

// idleRules returns the rules that name a resource no route has, nor group of paths, as "flow orders (for ordres)".
func (g *Gateway) idleRules() []string {
	rules := g.eng.Rules()
	known := g.census(rules)
	var idle []string
	add := func(kind string, m rule.Meta) {
		if !known.has(m.Resource, kind != "isolation") {
			idle = append(idle, fmt.Sprintf("%s %s (for %q)", kind, m.ID, m.Resource.Pattern()))
		}
	}
	for _, r := range rules.Flow {
		add("flow", r.Meta())
	}
	for _, r := range rules.Concurrency {
		add("concurrency", r.Meta())
	}
	for _, r := range rules.Breaker {
		add("breaker", r.Meta())
	}
	for _, r := range rules.Isolation {
		add("isolation", r.Meta())
	}
	for _, r := range rules.Param {
		add("param", r.Meta())
	}
	for _, r := range rules.Authority {
		add("authority", r.Meta())
	}
	return idle
}

// Engine returns the gateway's engine, which lives as long as the gateway.
func (g *Gateway) Engine() *cordon.Engine { return g.eng }

// Close ends the engine with its watches, and idle connections. It is idempotent.
func (g *Gateway) Close() error { return g.close() }

func (g *Gateway) shut() error {
	for _, t := range g.transports {
		t.CloseIdleConnections()
	}
	g.advice.end()
	err := g.eng.Close()
	if g.nacos != nil {
		err = errors.Join(err, g.nacos.Close())
	}
	return err
}

// ServeHTTP takes a request to its route's upstreams, if the engine admits it. A request that no route takes is answered with
// 404, or 405 if only its method is wrong; the engine does not hear of it.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.flight.begin()
	defer g.flight.end()
	if hasDotSegment(r.URL.Path) {
		nethttp.Problem{Status: http.StatusBadRequest, Detail: `The path must not contain the segments "." and "..".`}.Write(w)
		return
	}
	rt, methods := g.table.find(r.Method, r.Host, r.URL.Path)
	if rt != nil {
		rt.ServeHTTP(w, r)
		return
	}
	g.unrouted.Add(1)
	p := nethttp.Problem{Status: http.StatusNotFound}
	if len(methods) > 0 {
		p.Status = http.StatusMethodNotAllowed
		w.Header().Set("Allow", strings.Join(methods, ", "))
	}
	p.Write(w)
}

// notReady says why the gateway should not be sent requests; nothing if it should.
func (g *Gateway) notReady() []string {
	var why []string
	if s := g.current(); s != serving {
		why = append(why, s.String())
	}
	for i := range g.watches {
		w := &g.watches[i]
		if h := w.Health(); h.Applied.IsZero() && !g.mayLack(w) {
			reason := h.Source + ": no rules yet"
			if h.LastError != nil {
				reason += ": " + h.LastError.Error()
			}
			why = append(why, reason)
		}
	}
	for _, name := range g.lacking() {
		why = append(why, name+": "+noDocuments)
	}
	return why
}
