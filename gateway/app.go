package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cordon-go/cordon/datasource"
)

// An app is an entry of rules that stands for several documents. It has those of the kinds of rules that it uses, so that none of them need exist; but where not even one does, its name is misspelt, or the
// server has lost its data.
type app struct {
	// none is called when the server has said of all documents that they do not exist, and again when that has become so anew.
	none func()

	mu     sync.Mutex
	absent []bool // of each document, that the server has said so last
	lacks  bool   // all are absent
}

// document returns the source of one of the app's documents.
func (a *app) document(s datasource.Source) datasource.Source {
	a.absent = append(a.absent, false)
	return &appDocument{Source: s, app: a, index: len(a.absent) - 1}
}

// says takes down what the server says of a document.
func (a *app) says(index int, absent bool) {
	a.mu.Lock()
	a.absent[index] = absent
	before := a.lacks
	a.lacks = !slices.Contains(a.absent, false)
	tell := a.lacks && !before
	a.mu.Unlock()
	if tell {
		a.none()
	}
}

// isEmpty reports whether the server has said that none of the documents exists.
func (a *app) isEmpty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lacks
}

// An appDocument is the source of a document of an app.
type appDocument struct {
	datasource.Source
	app   *app
	index int
}

// Watch is the source's, and tells the app.
func (d *appDocument) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	return d.Source.Watch(ctx, func(u datasource.Update) {
		deliver(u)
		if absent := errors.Is(u.Err, datasource.ErrAbsent); absent || u.Err == nil {
			d.app.says(d.index, absent)
		}
	})
}

// Optional says that the document need not exist.
func (d *appDocument) Optional() bool { return true }

// Debounce is what the source says, or none: only a config centre has apps, and that has whole documents.
func (d *appDocument) Debounce() time.Duration {
	if s, ok := d.Source.(datasource.Debouncer); ok {
		return s.Debounce()
	}
	return 0
}
