package demo

import (
	"slices"
	"sync"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

// A journal keeps what the engine tells its observers: the reports on offered rules, the breakers' changes, the decisions on instances, and when
// which call was admitted. It is safe for concurrent use.
type journal struct {
	clock clock.Clock

	// mu guards the entries.
	mu          sync.Mutex
	reports     []reported
	transitions map[string][]breaker.Transition
	admissions  map[string][]time.Duration
	underWay    map[string]int // calls that were checked and have not ended
	decisions   map[string][]isolation.Event
	faults      []cordon.FaultEvent
}

// reported is a report and the reading of the clock when it came.
type reported struct {
	rule.Report
	at time.Duration
}

func newJournal(clk clock.Clock) *journal {
	return &journal{
		clock: clk, transitions: map[string][]breaker.Transition{}, admissions: map[string][]time.Duration{}, decisions: map[string][]isolation.Event{},
		underWay: map[string]int{},
	}
}

// observer returns the observer that writes into the journal.
func (j *journal) observer() cordon.Observer {
	return cordon.Observer{
		Report: func(r rule.Report) {
			at := j.clock.Now()
			j.mu.Lock()
			defer j.mu.Unlock()
			j.reports = append(j.reports, reported{r, at})
		},
		Breaker: func(e cordon.BreakerEvent) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.transitions[e.Resource] = append(j.transitions[e.Resource], e.Transition)
		},
		Isolation: func(e cordon.IsolationEvent) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.decisions[e.Service] = append(j.decisions[e.Service], e.Event)
		},
		Fault: func(e cordon.FaultEvent) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.faults = append(j.faults, e)
		},
	}
}

// Name, Check and Done make the journal a cordon.Checker that admits everything and notes the decision's time: the one
// that the engine itself went by.
func (j *journal) Name() string { return "journal" }

// of returns under which name a call is noted: its resource, and who made it if that is told. Those who scan are not noted.
func (j *journal) of(call *cordon.CheckedCall) (name string, noted bool) {
	r := &call.Request
	if r.Carrier != nil {
		if caller, ok := r.Carrier.Lookup(extractor.Header, calledBy); ok {
			return r.Resource + "/" + caller.String(), r.Origin != scanning
		}
	}
	return r.Resource, true
}

// Check admits the call.
func (j *journal) Check(call *cordon.CheckedCall) error {
	name, noted := j.of(call)
	if !noted {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.underWay[name]++
	return nil
}

// Done notes the call if all checks admitted it.
func (j *journal) Done(call *cordon.CheckedCall, _ cordon.Outcome, _ time.Duration, ran bool) {
	name, noted := j.of(call)
	if !noted {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.underWay[name]--
	if !ran {
		return
	}
	j.admissions[name] = note(j.admissions[name], call.Now)
}

// admitted returns when the resource's newest calls were admitted, sorted. Calls that have not ended yet are missing.
func (j *journal) admitted(resource string) []time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	times := slices.Clone(j.admissions[resource])
	slices.Sort(times)
	return times
}

// idle reports whether all of the resource's calls have ended and are noted. A caller has its answer somewhat earlier.
func (j *journal) idle(resource string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.underWay[resource] == 0
}

// history returns the changes of the resource's breaker so far.
func (j *journal) history(resource string) []breaker.Transition {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.transitions[resource])
}

// decided returns the decisions on the service's instances after the first n.
func (j *journal) decided(service string, n int) []isolation.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := j.decisions[service]
	return slices.Clone(list[min(n, len(list)):])
}

// reportsSince returns the reports after the first n.
func (j *journal) reportsSince(n int) []reported {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.reports[min(n, len(j.reports)):])
}

// reportCount returns how many reports there were.
func (j *journal) reportCount() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.reports)
}

// faulty returns the engine's internal faults: there should be none.
func (j *journal) faulty() []cordon.FaultEvent {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.faults)
}
