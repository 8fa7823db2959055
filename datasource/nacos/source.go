package nacos

import (
	"context"
	"fmt"
	"time"

	"github.com/cordon-go/cordon/datasource"
)

// A Source is one document on a server. It is a datasource.Source; watches of one source are independent of each other.
type Source struct {
	client *Client
	key    key
	// clears is whether there being no document, or nothing in it, is delivered as the document empty.
	clears bool
	empty  []byte
	// optional is whether the document need not exist.
	optional bool
}

// A SourceOption adjusts a Source.
type SourceOption interface{ applySource(*Source) }

type sourceOptionFunc func(*Source)

func (f sourceOptionFunc) applySource(s *Source) { f(s) }

// Group is the group that the document is in; default DefaultGroup, for Sentinel's documents SentinelGroup.
func Group(name string) SourceOption {
	return sourceOptionFunc(func(s *Source) { s.key.group = name })
}

// EmptyClears takes a document that is absent or empty for one without rules: an empty one is delivered, for Sentinel's documents "[]", once
// that was read twice, a second apart. By default that is datasource.ErrAbsent, and the rules in force stay: a server that has lost its
// data looks the same. The client's log warns of it. Decoders refuse documents of no bytes, so whoever decodes must know; EmptyIs delivers one that they read.
func EmptyClears() SourceOption {
	return sourceOptionFunc(func(s *Source) { s.clears = true })
}

// EmptyIs is EmptyClears, with the document to deliver: "[]" in Sentinel's form, "cordon: 1" in the native one.
func EmptyIs(document string) SourceOption {
	return sourceOptionFunc(func(s *Source) { s.clears, s.empty = true, []byte(document) })
}

// Optional says that the document need not exist: that there is none is no failure as long as there never was one (datasource.Optional). Sentinel's documents are all optional, since apps have only those
// of the kinds of rules that they use. Default: a document that does not exist is a failure, so that a misspelt name is not taken for a document that is not needed.
func Optional() SourceOption {
	return sourceOptionFunc(func(s *Source) { s.optional = true })
}

// Source returns the source of a document. Nothing is asked of the server until it is watched. A name that the server would not take is an error of Watch.
func (c *Client) Source(dataID string, opts ...SourceOption) *Source {
	s := &Source{client: c, key: key{DefaultGroup, dataID}, empty: []byte{}}
	for _, o := range opts {
		if o != nil {
			o.applySource(s)
		}
	}
	return s
}

// Name returns "nacos:NAMESPACE/GROUP/DATAID", where the namespace without an id is called public.
func (s *Source) Name() string { return "nacos:" + s.client.namespace() + "/" + s.key.String() }

// Debounce is datasource.Debouncer's: nothing need wait, since the server holds whole documents only, and a burst of changes is merged while the first of them is being applied.
func (s *Source) Debounce() time.Duration { return 0 }

// Optional is datasource.Optional's.
func (s *Source) Optional() bool { return s.optional }

// Watch is datasource.Source's. It returns ErrClosed once the client is closed. That, and a name that the server would not take, are datasource.Permanent.
func (s *Source) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	if err := s.key.check(); err != nil {
		return datasource.Permanent(err)
	}
	w, err := s.client.join(s)
	if err != nil { // the client is closed
		return datasource.Permanent(err)
	}
	defer s.client.leave(w)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.client.ctx.Done():
			return datasource.Permanent(fmt.Errorf("watch ends: %w", ErrClosed))
		case <-w.mail.signal:
			for _, u := range w.mail.take() {
				if ctx.Err() == nil {
					deliver(u)
				}
			}
		}
	}
}
