package nethttp

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cordon-go/cordon/extractor"
)

// peek returns a request's body if it is JSON by its header and no longer than most bytes. What it reads of it stands in front of the rest for whoever reads the body afterwards. What a client does
// (a body that breaks off, say) is no fault of the server's: then there is none.
func peek(r *http.Request, most int) ([]byte, error) {
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		return nil, extractor.ErrNoBody
	case !isJSON(r.Header):
		return nil, extractor.ErrNotJSON
	case r.ContentLength > int64(most):
		return nil, extractor.ErrTooLarge
	}
	b, ok := r.Body.(*peeked)
	if !ok {
		b = &peeked{rest: r.Body}
		r.Body = b
	}
	return b.fill(most, r.ContentLength)
}

// isJSON reports whether a request's header says that its body is plain JSON.
func isJSON(h http.Header) bool {
	for _, coding := range h["Content-Encoding"] {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return false
		}
	}
	return slices.ContainsFunc(h["Content-Type"], isJSONType) // of several, who knows which one is gone by
}

// isJSONType reports whether a Content-Type says JSON, or one of the types that are written in it.
func isJSONType(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.TrimSpace(media)
	const suffix = "+json"
	return strings.EqualFold(media, "application/json") || strings.EqualFold(media, "text/json") ||
		len(media) > len(suffix) && strings.EqualFold(media[len(media)-len(suffix):], suffix)
}

// A peeked body was read from before it is read.
type peeked struct {
	rest io.ReadCloser
	// prefix is what was read from rest, err what came after it; nil if nothing did so far.
	prefix []byte
	err    error
	at     int // how much of prefix was read on
	begun  bool
	closed atomic.Bool // a transport closes bodies while another goroutine reads
}

const (
	// The sizes of what a body is read into: at first, if its length is not known, and at most for one that says how long it is but has not sent anything yet.
	firstPeek   = 512
	longestPeek = 8 << 10
	// mostIdle is how often in a row a read may return nothing at all.
	mostIdle = 100
)

// fill reads on until the end of the body, or until it is longer than most, and returns all of it. length is what the header says, -1 for nothing.
func (b *peeked) fill(most int, length int64) ([]byte, error) {
	if b.begun || b.closed.Load() {
		return nil, extractor.ErrNoBody
	}
	if b.prefix == nil {
		size := int64(firstPeek)
		if length >= 0 {
			size = min(length+1, longestPeek) // the end comes with the last byte, or takes a read of its own
		}
		b.prefix = make([]byte, 0, size)
	}
	for idle := 0; b.err == nil && len(b.prefix) <= most; idle++ {
		if len(b.prefix) == cap(b.prefix) {
			b.prefix = slices.Grow(b.prefix, len(b.prefix))
		}
		var n int
		room := min(cap(b.prefix), most+1)
		n, b.err = b.rest.Read(b.prefix[len(b.prefix):room])
		b.prefix = b.prefix[:len(b.prefix)+n]
		if n > 0 {
			idle = 0
		} else if idle == mostIdle && b.err == nil {
			b.err = io.ErrNoProgress
		}
	}
	var tooLarge *http.MaxBytesError
	switch {
	case len(b.prefix) > most, errors.As(b.err, &tooLarge):
		return nil, extractor.ErrTooLarge
	case b.err != io.EOF, len(b.prefix) == 0:
		return nil, extractor.ErrNoBody
	}
	return b.prefix, nil
}

// Read reads what was read before, then the rest.
func (b *peeked) Read(p []byte) (int, error) {
	b.begun = true
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	if b.at < len(b.prefix) {
		n := copy(p, b.prefix[b.at:])
		b.at += n
		return n, nil
	}
	b.prefix, b.at = nil, 0
	if b.err != nil {
		return 0, b.err
	}
	return b.rest.Read(p)
}

// Close closes the body.
func (b *peeked) Close() error {
	b.closed.Store(true)
	return b.rest.Close()
}

// copyBody returns a copy of the body of a request that is to be sent, if it can be had: the body itself is read only by whoever sends it.
func copyBody(r *http.Request, most int) ([]byte, error) {
	switch {
	case r.Body == nil || r.Body == http.NoBody || r.GetBody == nil:
		return nil, extractor.ErrNoBody
	case !isJSON(r.Header):
		return nil, extractor.ErrNotJSON
	case r.ContentLength > int64(most):
		return nil, extractor.ErrTooLarge
	}
	body, err := r.GetBody()
	if err != nil || body == nil {
		return nil, extractor.ErrNoBody
	}
	b := peeked{rest: body}
	defer b.Close()
	return b.fill(most, r.ContentLength)
}
