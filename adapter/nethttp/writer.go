package nethttp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
)

// A recorder notes the status that a handler answers with and passes everything on.
type recorder struct {
	w        http.ResponseWriter
	status   int // the first final status; 0 while none was sent
	hijacked bool
}

// final returns the status that the client has seen or will see once the handler has returned; 0 if the handler took the
// connection over before it sent any.
func (r *recorder) final() int {
	if r.status == 0 && !r.hijacked {
		return http.StatusOK
	}
	return r.status
}

// implicit notes that what is about to be done sends a status of 200 if none was sent.
func (r *recorder) implicit() {
	if r.status == 0 && !r.hijacked {
		r.status = http.StatusOK
	}
}

func (r *recorder) Header() http.Header { return r.w.Header() }

// WriteHeader notes the first final status: 1xx announce another, but for 101, and net/http ignores what comes after the first.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && !r.hijacked && (status >= 200 || status == http.StatusSwitchingProtocols) {
		r.status = status
	}
	r.w.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.implicit()
	return r.w.Write(p)
}

func (r *recorder) WriteString(s string) (int, error) {
	r.implicit()
	return io.WriteString(r.w, s)
}

// FlushError is how http.ResponseController flushes; it says so if the writer cannot.
func (r *recorder) FlushError() error {
	err := http.NewResponseController(r.w).Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		r.implicit()
	}
	return err
}

// Unwrap lets http.ResponseController reach all else the writer can do.
func (r *recorder) Unwrap() http.ResponseWriter { return r.w }

// What a writer may offer besides. Each is offered to the handler only if the writer beneath has it, so that a handler
// that looks for one is told the truth.
type (
	flusher    struct{ r *recorder }
	hijacker   struct{ r *recorder }
	readerFrom struct{ r *recorder }
	pusher     struct{ r *recorder }
)

func (f flusher) Flush() {
	f.r.implicit()
	f.r.w.(http.Flusher).Flush()
}

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := h.r.w.(http.Hijacker).Hijack()
	if err == nil {
		h.r.hijacked = true
	}
	return conn, rw, err
}

// ReadFrom keeps sendfile working: the writer beneath sees the source itself.
func (f readerFrom) ReadFrom(src io.Reader) (int64, error) {
	f.r.implicit()
	return f.r.w.(io.ReaderFrom).ReadFrom(src)
}

func (p pusher) Push(target string, opts *http.PushOptions) error {
	return p.r.w.(http.Pusher).Push(target, opts)
}

// writer returns the recorder with exactly those of the optional interfaces that the writer beneath has.
func (r *recorder) writer() http.ResponseWriter {
	const canFlush, canHijack, canReadFrom, canPush = 1, 2, 4, 8
	var can int
	if _, ok := r.w.(http.Flusher); ok {
		can |= canFlush
	}
	if _, ok := r.w.(http.Hijacker); ok {
		can |= canHijack
	}
	if _, ok := r.w.(io.ReaderFrom); ok {
		can |= canReadFrom
	}
	if _, ok := r.w.(http.Pusher); ok {
		can |= canPush
	}
	f, h, rf, p := flusher{r}, hijacker{r}, readerFrom{r}, pusher{r}
	switch can {
	case canFlush:
		return struct {
			*recorder
			flusher
		}{r, f}
	case canHijack:
		return struct {
			*recorder
			hijacker
		}{r, h}
	case canFlush | canHijack:
		return struct {
			*recorder
			flusher
			hijacker
		}{r, f, h}
	case canReadFrom:
		return struct {
			*recorder
			readerFrom
		}{r, rf}
	case canFlush | canReadFrom:
		return struct {
			*recorder
			flusher
			readerFrom
		}{r, f, rf}
	case canHijack | canReadFrom:
		return struct {
			*recorder
			hijacker
			readerFrom
		}{r, h, rf}
	case canFlush | canHijack | canReadFrom:
		return struct {
			*recorder
			flusher
			hijacker
			readerFrom
		}{r, f, h, rf}
	case canPush:
		return struct {
			*recorder
			pusher
		}{r, p}
	case canFlush | canPush:
		return struct {
			*recorder
			flusher
			pusher
		}{r, f, p}
	case canHijack | canPush:
		return struct {
			*recorder
			hijacker
			pusher
		}{r, h, p}
	case canFlush | canHijack | canPush:
		return struct {
			*recorder
			flusher
			hijacker
			pusher
		}{r, f, h, p}
	case canReadFrom | canPush:
		return struct {
			*recorder
			readerFrom
			pusher
		}{r, rf, p}
	case canFlush | canReadFrom | canPush:
		return struct {
			*recorder
			flusher
			readerFrom
			pusher
		}{r, f, rf, p}
	case canHijack | canReadFrom | canPush:
		return struct {
			*recorder
			hijacker
			readerFrom
			pusher
		}{r, h, rf, p}
	case canFlush | canHijack | canReadFrom | canPush:
		return struct {
			*recorder
			flusher
			hijacker
			readerFrom
			pusher
		}{r, f, h, rf, p}
	}
	return r
}
