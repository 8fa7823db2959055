package fakenacos

import (
	"sync"
	"sync/atomic"
)

// Moods are what a server does on bad days. The zero value is a good day.
type Moods struct {
	// Forbid refuses documents to everybody, ForbidListen only notices.
	Forbid, ForbidListen atomic.Bool
	// NotReady says to connections that the server is still starting.
	NotReady atomic.Bool
	// SlowToKnow is how many requests of new connections are refused because the server does not know them yet.
	SlowToKnow atomic.Int64
	// Changing is how many reads are refused because somebody is changing the document.
	Changing atomic.Int64
	// Garbage answers with what cannot be read.
	Garbage atomic.Bool
	// NoCAS stores whatever MD5 is asked for, as servers of others do.
	NoCAS atomic.Bool
	// BlindAdd tells everybody who adds a document that it is stored, also where somebody else has added it in between, as real servers do.
	BlindAdd atomic.Bool
	// SameMD5 says that no document has changed, whatever MD5 a client has.
	SameMD5 atomic.Bool

	mu sync.Mutex
	// hung are closed when there is an answer again: to all requests, or to those of one type.
	hung map[string]chan struct{}
}

// Hang keeps requests of a type unanswered, "" for all, until Answer or Stop.
func (m *Moods) Hang(kind string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hung == nil {
		m.hung = map[string]chan struct{}{}
	}
	if m.hung[kind] == nil {
		m.hung[kind] = make(chan struct{})
	}
}

// Answer ends Hang.
func (m *Moods) Answer(kind string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.hung[kind]; c != nil {
		close(c)
		delete(m.hung, kind)
	}
}

// release ends all hanging.
func (m *Moods) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.hung {
		close(c)
	}
	clear(m.hung)
}

// wait returns what a request of the type has to wait for.
func (m *Moods) wait(kind string) []chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []chan struct{}
	for _, k := range []string{"", kind} {
		if c := m.hung[k]; c != nil {
			all = append(all, c)
		}
	}
	return all
}

// takeOne takes one of a number that is left, and reports whether there was one.
func takeOne(left *atomic.Int64) bool {
	for {
		n := left.Load()
		if n <= 0 {
			return false
		}
		if left.CompareAndSwap(n, n-1) {
			return true
		}
	}
}
