// Package fromnacos lets gateways take rules from Nacos servers.
package fromnacos

import (
	"log/slog"

	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/gateway"
	"github.com/cordon-go/cordon/sentinel"
)

// Option builds in what takes a gateway's rules from a Nacos server. The logger is told of connections made and lost; nil for none.
func Option(logger *slog.Logger) gateway.Option {
	return gateway.WithNacos(func(n gateway.Nacos) (gateway.NacosClient, error) {
		password, err := n.Password()
		if err != nil {
			return nil, err
		}
		token, err := n.Token()
		if err != nil {
			return nil, err
		}
		c := nacos.Config{
			Servers: n.Servers, Namespace: n.Namespace, Username: n.Username, Password: password, AccessToken: token,
			Timeout: n.Timeout, Reread: n.Reread, Logger: logger,
		}
		if n.TLS != (gateway.NacosTLS{}) {
			c.TLS = &nacos.TLS{CA: n.TLS.CA, Cert: n.TLS.Cert, Key: n.TLS.Key, ServerName: n.TLS.ServerName, InsecureSkipVerify: n.TLS.InsecureSkipVerify}
		}
		made, err := nacos.New(c)
		return client{made}, err
	})
}

// client is a nacos.Client as gateways want it.
type client struct{ *nacos.Client }

// Sources returns the sources of what an entry of a gateway's rules names.
func (c client) Sources(r gateway.RuleSource) ([]gateway.NacosSource, error) {
	d := r.Nacos
	opts := []nacos.SourceOption{nacos.Group(d.Group)}
	if d.App == "" {
		if d.EmptyClears {
			opts = append(opts, nacos.EmptyIs(emptyDocument(r.Format)))
		}
		return []gateway.NacosSource{{Source: c.Source(d.DataID, opts...)}}, nil
	}
	if d.EmptyClears {
		opts = append(opts, nacos.EmptyClears())
	}
	var sources []gateway.NacosSource
	for _, document := range c.Sentinel(d.App, opts...) {
		kind, err := sentinel.ParseKind(document.Kind)
		if err != nil {
			return nil, err
		}
		sources = append(sources, gateway.NacosSource{Source: document.Source, Kind: kind})
	}
	return sources, nil
}

// emptyDocument is a document without rules.
func emptyDocument(f gateway.Format) string {
	if f == gateway.Sentinel {
		return "[]"
	}
	return "cordon: 1"
}
