package paramflow

import (
	"sync"

	"github.com/cordon-go/cordon/extractor"
)

// A stripe is what a limiter knows of the values whose hash begins alike. All of it is guarded by mu, which is held for the time of one decision and never while anything is waited
// for.
type stripe struct {
	mu sync.Mutex
	cells
	flights

	passed, refused int64
	doubtful        int64 // refused while the value shared its cells
	// latest is the latest reading that anything was admitted at, returned how many ticks were given back in all. Both bound what a permit can still give back, see Limiter.giveBack.
	latest   int64
	returned int64
	// edited is when allowances changed last.
	edited  int64
	guesses []guess // nil if classes need no finding
	ranks   ranks

	_ [64]byte // neighbours are locked by others
}

// class returns the class of a value without an override of its own; uncounted if the rule is not for it.
func (s *stripe) class(p *plan, v extractor.Value, hash uint64) uint16 {
	if !p.remembers() {
		return 0
	}
	g := &s.guesses[hash>>32&(guesses-1)]
	if g.hash != hash {
		*g = guess{hash, uncounted}
		if p.only.holds(v) {
			g.class = p.class(v)
		}
	}
	return g.class
}
