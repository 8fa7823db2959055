package nethttp

import (
	"net/http"
	"net/netip"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/extractor"
)

// inbound is a request that a server got, as the carrier of what rules on hot parameters look at. It is one pointer, which an interface holds without another object.
type inbound struct{ r *http.Request }

// Lookup returns what the request has under a key.
func (c inbound) Lookup(part extractor.Part, key string) (extractor.Value, bool) {
	switch part {
	case extractor.PathValue:
		v := c.r.PathValue(key)
		return extractor.Text(v), v != ""
	case extractor.Peer, extractor.Client:
		a, ok := addressOf(c.r.RemoteAddr)
		return a.value(), ok
	}
	return lookup(c.r, part, key)
}

// Body returns the request's body; see peek.
func (c inbound) Body(most int) ([]byte, error) { return peek(c.r, most) }

// outbound is a request that a client is about to send, as inbound is one that a server got.
type outbound struct{ r *http.Request }

// Lookup returns what the request has under a key. The other end is not known before it is connected to.
func (c outbound) Lookup(part extractor.Part, key string) (extractor.Value, bool) {
	return lookup(c.r, part, key)
}

// Body returns a copy of the request's body if there can be one; see copyBody.
func (c outbound) Body(most int) ([]byte, error) { return copyBody(c.r, most) }

// lookup returns what requests have under a key whichever way they go.
func lookup(r *http.Request, part extractor.Part, key string) (extractor.Value, bool) {
	switch part {
	case extractor.Header:
		if values := r.Header[key]; len(values) > 0 {
			return extractor.Text(values[0]), true
		}
		if key == "Host" { // net/http keeps it elsewhere
			host := r.Host
			if host == "" && r.URL != nil {
				host = r.URL.Host
			}
			return extractor.Text(host), host != ""
		}
	case extractor.Query:
		if r.URL != nil {
			v, ok := queryValue(r.URL.RawQuery, key)
			return extractor.Text(v), ok
		}
	case extractor.Cookie:
		v, ok := cookieValue(r.Header["Cookie"], key)
		return extractor.Text(v), ok
	}
	return extractor.Value{}, false
}

// configured is a carrier of which options say more.
type configured struct {
	extractor.Carrier
	r       *http.Request
	cfg     *config
	inbound bool
}

// Lookup asks the options first, for what they are about.
func (c *configured) Lookup(part extractor.Part, key string) (extractor.Value, bool) {
	if c.r == nil { // its call has ended
		return extractor.Value{}, false
	}
	switch {
	case part == extractor.Values && c.cfg.values != nil:
		return extractor.Of(c.cfg.values(c.r, key))
	case part == extractor.Client && c.inbound && len(c.cfg.trusted) > 0:
		a, ok := clientAddress(c.r, c.cfg.trusted)
		return a.value(), ok
	}
	v, ok := c.Carrier.Lookup(part, key)
	if !ok && part == extractor.PathValue && c.inbound {
		text := c.cfg.pathValue(c.r, key)
		return extractor.Text(text), text != ""
	}
	return v, ok
}

// Body returns the request's body.
func (c *configured) Body(most int) ([]byte, error) {
	if c.r == nil {
		return nil, extractor.ErrNoBody
	}
	return c.Carrier.Body(most)
}

// carrier returns what rules on hot parameters look at in a request. It is released when the call has ended.
func (c *config) carrier(r *http.Request, in bool) extractor.Carrier {
	var plain extractor.Carrier = outbound{r}
	if in {
		plain = inbound{r}
	}
	if c.values == nil && (!in || len(c.trusted) == 0 && c.mux == nil && c.pathPattern == "") {
		return plain
	}
	own, _ := c.carriers.Get().(*configured)
	if own == nil {
		own = new(configured)
	}
	own.Carrier, own.r, own.cfg, own.inbound = plain, r, c, in
	return own
}

// release lets other requests use a carrier.
func (c *config) release(carrier extractor.Carrier) {
	if own, ok := carrier.(*configured); ok {
		*own = configured{}
		c.carriers.Put(own)
	}
}

// WithTrustedProxies says which addresses are those of proxies in front of the server, for rules on client.ip. The client of a request that comes from one of them is the last address
// in X-Forwarded-For that is none of theirs; what is written before it is whatever the client claims. (The first address is taken if all are theirs, and the proxy's own if
// there is nothing that it says.) By default, and for requests from anywhere else, the client is who is at the other end of the connection. The header Forwarded is not looked at:
// a proxy that sets the one passes on what clients write into the other.
//
// It panics if a prefix is not valid. For servers.
func WithTrustedProxies(prefixes ...netip.Prefix) Option {
	trusted := make([]netip.Prefix, len(prefixes))
	for i, p := range prefixes {
		if !p.IsValid() {
			panic("nethttp: WithTrustedProxies needs valid prefixes; got the zero netip.Prefix")
		}
		trusted[i] = unmapped(p)
	}
	return optionFunc(func(c *config) { c.trusted = append(c.trusted, trusted...) })
}

// WithValues sets what requests carry besides, for rules on value.tenant and the like: f is called with the name after value, when a rule looks at it, and returns the value in any type that package
// extractor knows, or nil if there is none. It must be quick. A panic in it is an internal fault of the engine's (cordon.WithFaultPolicy).
func WithValues(f func(r *http.Request, name string) any) Option {
	return optionFunc(func(c *config) { c.values = f })
}

// WithNamer names the resource by what is in the request: of the namer's path, resource is the name that the request has by the other rules (WithName and so on), as in
// `resource + header["X-Tenant"]`.
func WithNamer(n *cordon.Namer) Option {
	return optionFunc(func(c *config) { c.namer = n })
}

// WithPathPattern says what the segments of paths are called, for rules on path.id, where no http.ServeMux does: "/users/{id}/orders/{order}". A {name} is one segment, {name...} at the end the
// rest; the others must be as they are written. It holds below the path too: /users/7/orders has an id. It names no resources. What a ServeMux found for a name goes before it.
//
// It panics if the pattern is not valid (CheckPathPattern). For servers.
func WithPathPattern(pattern string) Option {
	if err := CheckPathPattern(pattern); err != nil {
		panic(err.Error())
	}
	return optionFunc(func(c *config) { c.pathPattern = pattern })
}
