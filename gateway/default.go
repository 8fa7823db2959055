package gateway

import (
	"cmp"
	"slices"
	"time"
)

// withDefaults returns the configuration with every default spelled out, and names in the form they are compared in.
func (c Config) withDefaults() Config {
	c.Listen = cmp.Or(c.Listen, ":8080")
	c.Admin = cmp.Or(c.Admin, "127.0.0.1:8081")
	c.Grace = cmp.Or(c.Grace, 30*time.Second)
	t, l := &c.Timeouts, &c.Limits
	t.ReadHeader = cmp.Or(t.ReadHeader, 10*time.Second)
	t.Idle = cmp.Or(t.Idle, 2*time.Minute)
	t.Dial = cmp.Or(t.Dial, 3*time.Second)
	t.Send = cmp.Or(t.Send, 30*time.Second)
	t.ResponseHeader = cmp.Or(t.ResponseHeader, 30*time.Second)
	t.UpstreamIdle = cmp.Or(t.UpstreamIdle, 90*time.Second)
	l.HeaderBytes = cmp.Or(l.HeaderBytes, 64<<10)
	l.BodyBytes = cmp.Or(l.BodyBytes, 10<<20)
	l.ResponseHeaderBytes = cmp.Or(l.ResponseHeaderBytes, 1<<20)
	l.ParamBodyBytes = cmp.Or(l.ParamBodyBytes, 64<<10)
	routes := make([]Route, len(c.Routes))
	for i, r := range c.Routes {
		r.Host = hostName(r.Host)
		r.Prefix = cleanPrefix(r.Prefix)
		r.Resource = cmp.Or(r.Resource, r.Name)
		r.Retry = r.Retry.WithDefaults()
		r.Upstreams = slices.Clone(r.Upstreams)
		for j := range r.Upstreams {
			r.Upstreams[j].Weight = cmp.Or(r.Upstreams[j].Weight, 1)
		}
		r.Timeouts.Dial = cmp.Or(r.Timeouts.Dial, t.Dial)
		r.Timeouts.Send = cmp.Or(r.Timeouts.Send, t.Send)
		r.Timeouts.ResponseHeader = cmp.Or(r.Timeouts.ResponseHeader, t.ResponseHeader)
		routes[i] = r
	}
	c.Routes = routes
	return c
}
