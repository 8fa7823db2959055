// Package gateway is a reverse proxy that puts an engine in front of HTTP upstreams.
//
// A Gateway is configured by one document (Load, Parse, or a Config built in code): where to listen, routes (host, path prefix,
// methods) with their resources and upstreams, timeouts, limits, and the files and documents that rules are taken from. Every request that
// a route takes is one call of the route's resource, from the first look at the rules to the last byte: streams,
// server-sent events and WebSockets hold their place until they end.
//
// Run serves until its context is done, then drains. A Gateway is an http.Handler too, to be mounted elsewhere.
//
// docs/gateway.md is the guide and the reference of the configuration.
package gateway
