// Package nethttp guards net/http servers and clients with a cordon engine.
//
// Middleware guards handlers: each request is one call of a resource named after the pattern it matched, judged by
// its status. A refused request is answered with 429 (rates), 503 (breakers, concurrency, an overloaded process) or 403 (callers that
// may not call), Retry-After where waiting helps, and a problem document (RFC 9457).
//
// Transport guards a client: each exchange is one call of a resource named after the host, which lasts until the
// response's body has been read to its end or closed.
//
// Both leave what they carry alone: streaming, upgrades, sendfile, panics and errors pass through as if they were not there.
package nethttp
