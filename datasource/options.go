package datasource

import (
	"log/slog"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// PumpOptions adjusts a Pump. The zero value holds the defaults.
type PumpOptions struct {
	// Clock is the clock used for pauses and for the times in Health; default clock.System().
	Clock clock.Clock
	// Logger receives failures (as warnings) and recoveries (as infos): six lines at once, then one every 10s; each
	// line says how many were left out before it. Default: none. It is called with no lock held.
	Logger *slog.Logger
	// Debounce is how long a source must be quiet before its newest document is applied, so
	// that a burst of writes is one update; default what the source says (Debouncer), or 50ms, at most 1h, negative for none. Until a document has been applied
	// none waits, and a stream of changes cannot delay an update by more than ten times this.
	Debounce time.Duration
	// MinBackoff and MaxBackoff bound the pause before a failed source is watched again
	// (doubling, jittered by ±20% within the bounds); defaults 200ms and 30s. A MaxBackoff below MinBackoff counts as
	// MinBackoff. The pause begins anew at MinBackoff once a Watch has delivered a document and gone on for MaxBackoff.
	MinBackoff, MaxBackoff time.Duration
	// LastGood is the path of a file that keeps the document last applied, so that a process that starts while its source is down starts with
	// that document in force; "" for none, which is the default. The file belongs to one source, by its name, and may be shared by the processes that watch that source. Its folder is made if
	// it does not exist; the user alone can read the file. A relative path is taken from the folder that is current at Start. What cannot be read or written shows in Health.LastGoodError, and hinders nothing else. See docs/sources.md.
	LastGood string
	// InForce is asked after every document that was applied whether something else than that document is to be put into the last-good file, since the document alone does not say what is in force now (a part
	// of it was not accepted, say): nil if not, otherwise what writes that. It is called by the goroutine that applies, what it returns by the one that writes the file, or never if another document was applied
	// meanwhile. At the next start apply is given what was written, with Document.InForce set, and then what the source says, if that is the same document too. What cannot be written is told, and the file stays as it is. Default: none.
	InForce func() (write func() ([]byte, error))
	// OnStale is called when the document in force becomes one from the last-good file, and when the source has delivered a good document since, if
	// only the same: Health.Stale says which. It is called with no lock held, one call at a time, by the goroutine that applies, after the document was applied. Default: none.
	OnStale func(Health)
}

const (
	defaultDebounce   = 50 * time.Millisecond
	maxDebounce       = time.Hour
	defaultMinBackoff = 200 * time.Millisecond
	defaultMaxBackoff = 30 * time.Second

	// maxDelay is how many times the debounce a stream of changes can delay an update.
	maxDelay = 10
)

// withDefaults returns the options with every default filled in.
func (o PumpOptions) withDefaults() PumpOptions {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Debounce == 0 {
		o.Debounce = defaultDebounce
	}
	o.Debounce = min(max(o.Debounce, 0), maxDebounce)
	if o.MinBackoff <= 0 {
		o.MinBackoff = defaultMinBackoff
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = defaultMaxBackoff
	}
	o.MaxBackoff = max(o.MaxBackoff, o.MinBackoff)
	return o
}
