package nethttp

import "io"

// A body ends its call when it has been read to the end, has failed, or is closed.
type body struct {
	rc io.ReadCloser
	c  *call
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.rc.Read(p)
	switch err {
	case nil:
	case io.EOF:
		b.c.end(nil)
	default:
		b.c.end(err)
	}
	return n, err
}

// Close ends the call first, so that a reader which fails because of it ends nothing.
func (b *body) Close() error {
	b.c.end(nil)
	return b.rc.Close()
}
