package extractor

import "context"

// Call is what a value can be got out of.
type Call struct {
	// Context is the caller's; own extractors may look into it. May be nil.
	Context context.Context
	// Resource, Origin and Method say what is called, by whom and how. "" is absent. Method is "" where the adapter has none.
	Resource, Origin, Method string
	// Args are the call's arguments.
	Args []any
	// Carrier gives what the call carries beside its arguments; nil if it carries nothing.
	Carrier Carrier
}

// Part is a part of what a call carries.
type Part uint8

// The parts.
const (
	// Header, Query, Cookie and PathValue are an HTTP request's.
	Header Part = iota
	Query
	Cookie
	PathValue
	// Metadata is a gRPC call's, Attachment a dubbo call's.
	Metadata
	Attachment
	// Peer is the other end of the connection, Client the client behind trusted proxies; their key is "ip".
	Peer
	Client
	// Values are what the caller gave beside its arguments.
	Values
)

// Carrier is what an adapter gives to be looked into. It is called by the goroutine that makes the call, before the call is made.
type Carrier interface {
	// Lookup returns the first value of a key in a part; false if there is none. It must not allocate for plain values. A path's keys come in the form that the part's own
	// maps have: of Header in canonical form (X-Tenant), of Metadata in lower case, others as they are written.
	Lookup(part Part, key string) (Value, bool)
	// Body returns the call's body if it is no longer than max; the call still sees all of it. It is asked for once for each path into the body, and neither changed nor kept. An error (ErrNoBody, ErrNotJSON,
	// ErrTooLarge) says why there is none.
	Body(max int) ([]byte, error)
}
