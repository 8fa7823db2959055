package gateway

import (
	"sync"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// adviseAfter is how long rules may take to be whole: those of one change may come in several documents, rules for a group of paths before the group.
const adviseAfter = time.Second

// advice has rules checked against the routes: at the start once all have come, and a moment after every change.
type advice struct {
	clk   clock.Clock
	check func()

	mu    sync.Mutex // guards what follows
	on    bool
	timer clock.Timer       // of a check to come, nil if there is none
	told  map[string]string // what was last said, by message
}

// begin checks the rules of the start.
func (a *advice) begin() {
	a.mu.Lock()
	a.on, a.told = true, map[string]string{}
	a.mu.Unlock()
	a.check()
}

// rulesCame has the rules checked soon.
func (a *advice) rulesCame() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.on && a.timer == nil {
		a.timer = a.clk.AfterFunc(adviseAfter, a.due)
	}
}

func (a *advice) due() {
	a.mu.Lock()
	a.timer = nil
	on := a.on
	a.mu.Unlock()
	if on {
		a.check()
	}
}

// end lets nothing be checked any more.
func (a *advice) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.on = false
	if a.timer != nil {
		a.timer.Stop()
	}
}

// isNews notes what is said, and reports whether that is something else than the last time.
func (a *advice) isNews(msg, text string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	news := a.told[msg] != text
	a.told[msg] = text
	return news
}
