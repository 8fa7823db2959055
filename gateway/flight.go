package gateway

import "sync"

// A flight counts the requests being served, hijacked connections included, which http.Server loses sight of.
type flight struct {
	mu   sync.Mutex // guards what follows
	n    int
	idle chan struct{} // closed and forgotten when n falls to 0; nil if nobody waits
}

func (f *flight) begin() {
	f.mu.Lock()
	f.n++
	f.mu.Unlock()
}

func (f *flight) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n--
	if f.n == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

func (f *flight) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// landed returns a channel that is closed once no request is being served.
func (f *flight) landed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == 0 {
		done := make(chan struct{})
		close(done)
		return done
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	return f.idle
}
