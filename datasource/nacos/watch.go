package nacos

import (
	"fmt"
	"sync"

	"github.com/cordon-go/cordon/datasource"
)

// A watch is one call of Watch as the client's worker sees it.
type watch struct {
	key    key
	clears bool
	empty  []byte
	mail   *mailbox

	// All below is the worker's alone.
	track track
	// listening is the number of the connection on which the server was asked for notices, 0 for none.
	listening uint64
	// told is the text of what was told to be wrong since the last document, "" if nothing.
	told string
}

// tell delivers what is wrong, once.
func (w *watch) tell(err error) {
	if told := text(err); told != w.told {
		w.told = told
		w.mail.put(datasource.Update{Err: err})
	}
}

// deliver delivers a reading that counts: as a document, or as the lack of one.
func (w *watch) deliver(r reading, server string) {
	switch {
	case r.md5 != "":
		w.mail.put(datasource.Update{Document: r.document()})
		w.told = ""
	case w.clears:
		w.mail.put(datasource.Update{Document: datasource.Document{Data: w.empty, Version: "absent"}})
		w.told = ""
	default:
		w.tell(fmt.Errorf("%s: %w, or is empty", server, datasource.ErrAbsent))
	}
}

// A mailbox holds what is to be delivered: the newest document, and what was wrong after it.
type mailbox struct {
	signal chan struct{} // holds at most one: there is mail

	mu       sync.Mutex // guards all below
	document *datasource.Update
	wrong    *datasource.Update
}

func newMailbox() *mailbox { return &mailbox{signal: make(chan struct{}, 1)} }

// put leaves an update, in place of those that it makes old.
func (m *mailbox) put(u datasource.Update) {
	m.mu.Lock()
	if u.Err == nil {
		m.document, m.wrong = &u, nil
	} else {
		m.wrong = &u
	}
	m.mu.Unlock()
	select {
	case m.signal <- struct{}{}:
	default:
	}
}

// take takes what there is, in order.
func (m *mailbox) take() []datasource.Update {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []datasource.Update
	for _, u := range []*datasource.Update{m.document, m.wrong} {
		if u != nil {
			all = append(all, *u)
		}
	}
	m.document, m.wrong = nil, nil
	return all
}
