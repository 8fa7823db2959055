package nacos

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/cordon-go/cordon/datasource"
)

// A watch is one call of Watch as the client's worker sees it.
type watch struct {
	key    key
	clears bool
	empty  []byte
	// warn tells of what is not wrong, and yet rarely meant.
	warn func(msg string, attrs ...slog.Attr)
	mail *mailbox

	// All below is the worker's alone.
	track track
	// listening is the number of the connection on which the server was asked for notices, 0 for none.
	listening uint64
	// told is the text of what was told to be wrong since the last document, "" if nothing.
	told string
	// cleared is whether what was delivered last is that there is no document.
	cleared bool
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
	defer func() { w.cleared = r.md5 == "" }()
	switch {
	case r.md5 != "":
		w.mail.put(datasource.Update{Document: r.document()})
		w.told = ""
	case w.clears:
		if !w.cleared {
			w.warn("nacos: the document does not exist, or is empty, and that clears its rules, as EmptyClears or EmptyIs wants", slog.String("server", server), slog.String("document", w.key.String()))
		}
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
