package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cordon-go/cordon/datasource"
)

// An optional is a source whose document need not exist: an app has documents only of the kinds of rules it uses. That there is none is no failure as long as there never was one.
type optional struct {
	datasource.Source
	// absent is closed once the source has said that there is no document.
	absent chan struct{}
	once   sync.Once
	// told says that a document or a failure was delivered, or that rules of the source are kept from before: after that, that there is none is told as well. Only Watch uses it.
	told bool
}

func newOptional(s datasource.Source, kept bool) *optional {
	return &optional{Source: s, absent: make(chan struct{}), told: kept}
}

// Watch is the source's, without what need not be told.
func (o *optional) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	return o.Source.Watch(ctx, func(u datasource.Update) {
		if errors.Is(u.Err, datasource.ErrAbsent) {
			o.once.Do(func() { close(o.absent) })
			if !o.told {
				return
			}
		}
		o.told = true
		deliver(u)
	})
}

// Debounce is what the source says, or none: only a config centre's documents are optional, and that has whole ones.
func (o *optional) Debounce() time.Duration {
	if d, ok := o.Source.(datasource.Debouncer); ok {
		return d.Debounce()
	}
	return 0
}

// lacks reports whether the source has said that there is no document.
func (o *optional) lacks() bool {
	select {
	case <-o.absent:
		return true
	default:
		return false
	}
}
