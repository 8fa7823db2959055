package gateway

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/rule"
)

// Config is a gateway's configuration. A zero field means its default.
type Config struct {
	// Listen is the TCP address to serve on; default ":8080".
	Listen string `rule:"listen"`
	// Admin is the TCP address of the admin handler; default "127.0.0.1:8081"; "none" for none. It tells what the gateway is
	// doing to everybody who can reach it.
	Admin string `rule:"admin"`
	// AdminWrite lets the admin handler change something: take upstreams out of service and keep them in it, by hand (POST and DELETE /pin). Default: it only tells. It has no
	// password, so whoever reaches the address may do that then.
	AdminWrite bool `rule:"adminWrite"`
	// Grace is how long requests may take to end when the gateway stops, up to 1h; default 30s.
	Grace time.Duration `rule:"grace"`
	// Timeouts bound what clients and upstreams may take.
	Timeouts Timeouts `rule:"timeouts"`
	// Limits bound what clients and upstreams may send.
	Limits Limits `rule:"limits"`
	// OriginHeader names the request header that tells a call's origin, for rules by caller; default: none. Whoever sets the header
	// chooses the origin.
	OriginHeader string `rule:"originHeader"`
	// TrustForwarded keeps the X-Forwarded headers that requests bring and adds to them. By default they are replaced: set it only
	// behind a proxy that sets them.
	TrustForwarded bool `rule:"trustForwarded"`
	// TrustedProxies are the addresses of proxies in front of the gateway: prefixes like 10.0.0.0/8, or single addresses. Of requests that come from them the X-Forwarded headers are kept and added to, and
	// for rules on client.ip the client is the last address in X-Forwarded-For that is none of theirs. Default: none, so the client is who is connected.
	TrustedProxies []string `rule:"trustedProxies"`
	// Region is where the gateway stands: requests go to the upstreams of that region while enough of them are in service; default: all regions are
	// one.
	Region string `rule:"region"`
	// Isolation is what keeps sick upstreams out of service where the rules have no isolation rule that says so; default StandardIsolation.
	Isolation Isolation `rule:"isolation"`
	// Nacos is the server that rules are taken from, for the entries of Rules that name documents on it. It takes WithNacos.
	Nacos Nacos `rule:"nacos"`
	// Rules are what rules are taken from, at the start and at every change: files, and documents on the Nacos server. Where two bring a rule of one kind with one id, that of the earlier
	// one holds.
	Rules []RuleSource `rule:"rules"`
	// Routes are what is served; at least one. The order does not matter.
	Routes []Route `rule:"routes"`
}

// Timeouts bound what clients and upstreams may take; each up to 24h.
type Timeouts struct {
	// ReadHeader is how long a client may take to send a request's header; default 10s.
	ReadHeader time.Duration `rule:"readHeader"`
	// Read is how long a client may take to send a whole request; default: no bound.
	Read time.Duration `rule:"read"`
	// Idle is how long a client's connection is kept between requests; default 2m.
	Idle time.Duration `rule:"idle"`
	// Dial is how long connecting to an upstream may take, and then the TLS handshake; default 3s.
	Dial time.Duration `rule:"dial"`
	// Send is how long an upstream may take to accept more of a request; default 30s.
	Send time.Duration `rule:"send"`
	// ResponseHeader is how long an upstream may take from the end of the request to the response's header; default 30s.
	ResponseHeader time.Duration `rule:"responseHeader"`
	// UpstreamIdle is how long a connection to an upstream is kept between requests; default 90s.
	UpstreamIdle time.Duration `rule:"upstreamIdle"`
}

// Limits bound what clients and upstreams may send.
type Limits struct {
	// HeaderBytes is the size of a request's header, 1 KiB to 16 MiB; default 64 KiB. What is larger is answered with 431.
	HeaderBytes int `rule:"headerBytes"`
	// BodyBytes is the size of a request's body; default 10 MiB; -1 for no bound. What is larger is answered with 413.
	BodyBytes int64 `rule:"bodyBytes"`
	// ResponseHeaderBytes is the size of a response's header, 1 KiB to 16 MiB; default 1 MiB. What is larger is a failure (502).
	ResponseHeaderBytes int64 `rule:"responseHeaderBytes"`
	// ParamBodyBytes is how much of a request's body is read for rules on what is in it (body.user.id), 1 byte to 1 GiB; default 64 KiB. In a longer body there is no value for them.
	ParamBodyBytes int `rule:"paramBodyBytes"`
}

// Route says where requests go and what they are called.
type Route struct {
	// Name identifies the route in logs, and is its resource if there is no other; required, unique.
	Name string `rule:"name"`
	// Host is the host name that requests must be for, without port: exactly, or "*.example.com" for all below example.com;
	// default: any. The exact name wins over the longest wildcard, that over any.
	Host string `rule:"host"`
	// Prefix is the path that requests must be for, or be below of; default "/". The longest wins.
	Prefix string `rule:"prefix"`
	// PathPattern names segments of the path for rules on path.id, as "/orders/{id}/items/{item}" (nethttp.WithPathPattern); default: none has a name. It does not
	// choose requests: Prefix does.
	PathPattern string `rule:"pathPattern"`
	// Methods are the methods that requests must have; default: any. Of routes with the same host and prefix, one that names the
	// method wins.
	Methods []string `rule:"methods"`
	// Resource is what the engine calls requests of this route, and the service that its upstreams are instances of; default: the route's
	// name. Routes may share one: then they share rules, while each judges its upstreams by its own requests.
	Resource string `rule:"resource"`
	// Origin is the origin of all requests of this route, whatever a header says.
	Origin string `rule:"origin"`
	// Upstreams are the instances that requests are sent to; at least one. In a document each is a base URL, or an object.
	Upstreams []Upstream `rule:"upstreams"`
	// Balance is how one of the upstreams in service is chosen; default balance.RoundRobin.
	Balance Balance `rule:"balance"`
	// HashHeader and HashCookie name the request header or the cookie whose value balance.ConsistentHash goes by; default, and for requests
	// without: the client's address (the first of X-Forwarded-For, with Config.TrustForwarded).
	HashHeader string `rule:"hashHeader"`
	HashCookie string `rule:"hashCookie"`
	// Retry says when a request is sent again, to another upstream.
	Retry nethttp.Retry `rule:"retry"`
	// StripPrefix takes the prefix off the path before it is sent.
	StripPrefix bool `rule:"stripPrefix"`
	// PreserveHost sends the Host that the client asked for; by default it is the upstream's.
	PreserveHost bool `rule:"preserveHost"`
	// Timeouts override the gateway's for this route.
	Timeouts RouteTimeouts `rule:"timeouts"`
}

// Upstream is an instance that requests are sent to.
type Upstream struct {
	// URL is the base URL, http or https: what requests ask for is put below it. Required, each once in a route.
	URL string `rule:"url"`
	// Weight is its share of the requests relative to the others', .001 to 1,000,000; default 1.
	Weight float64 `rule:"weight"`
	// Region is where it stands; default: not known.
	Region string `rule:"region"`
	// Drained upstreams get no requests. A route needs one that is not.
	Drained bool `rule:"drained"`
}

// RouteTimeouts override the gateway's timeouts of the same names for one route; each up to 24h.
type RouteTimeouts struct {
	// Dial is how long connecting to an upstream may take, and then the TLS handshake; default: the gateway's.
	Dial time.Duration `rule:"dial"`
	// Send is how long an upstream may take to accept more of a request; default: the gateway's.
	Send time.Duration `rule:"send"`
	// ResponseHeader is how long an upstream may take from the end of the request to the response's header; default: the gateway's.
	ResponseHeader time.Duration `rule:"responseHeader"`
}

// Load reads the configuration in the file at path, as Parse does. That the password or token of the Nacos server is not where the configuration says is a fault too.
func Load(path string) (Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("gateway: reading the configuration: %w", err)
	}
	c, node, err := parseNode(path, data)
	if err != nil {
		return Config{}, err
	}
	c.within(filepath.Dir(path))
	if problems := located(node, c.Nacos.secretFaults()); len(problems) > 0 {
		return Config{}, inDocument(path, problems)
	}
	return c, nil
}

// within makes the paths in the configuration relative to a folder.
func (c *Config) within(folder string) {
	paths := []*string{&c.Nacos.PasswordFile, &c.Nacos.TokenFile, &c.Nacos.TLS.CA, &c.Nacos.TLS.Cert, &c.Nacos.TLS.Key}
	for i := range c.Rules {
		paths = append(paths, &c.Rules[i].File, &c.Rules[i].LastGood)
	}
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(folder, *p)
		}
	}
}

// Parse reads a configuration in YAML or JSON, strictly: what is unknown, of the wrong type or out of range is a fault. The error is
// rule.Problems, which names every fault with its position; source is what it calls the document.
func Parse(source string, data []byte) (Config, error) {
	c, _, err := parseNode(source, data)
	return c, err
}

// parseNode is Parse, which returns the document too.
func parseNode(source string, data []byte) (Config, *rule.Node, error) {
	node, err := rule.Parse(data)
	if err != nil {
		return Config{}, nil, inDocument(source, problemsOf(err))
	}
	var c Config
	problems := rule.Decode(spelledOut(node), &c, "")
	if len(problems.Faults()) == 0 {
		problems = located(node, append(c.problems(), unweighted(node, c)...))
	}
	if len(problems) > 0 {
		return Config{}, nil, inDocument(source, problems)
	}
	return c, node, nil
}

// located says where in the document the fields are that problems are about.
func located(doc *rule.Node, problems rule.Problems) rule.Problems {
	for i := range problems {
		problems[i].Position = position(doc, problems[i].Field)
	}
	return problems
}

func problemsOf(err error) rule.Problems {
	var p rule.Problem
	if errors.As(err, &p) {
		return rule.Problems{p}
	}
	return rule.Problems{{Message: err.Error()}}
}

func inDocument(source string, problems rule.Problems) rule.Problems {
	for i := range problems {
		problems[i].Source, problems[i].Index = source, -1
	}
	return problems
}
