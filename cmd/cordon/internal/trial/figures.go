package trial

import (
	"cmp"
	"slices"
	"time"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

// Figures are sums over runs, and times of them.
type Figures struct {
	// Runs is how many there were.
	Runs int
	// Counts are the calls and tries of all.
	Counts sim.Counts
	// Instances are the tries by instance, of all.
	Instances []sim.InstanceResult
	// Quarantines and Fallbacks are how often a client put an instance out, and switched its isolation off.
	Quarantines, Fallbacks int
	// False are the quarantines of instances that were well, WrongReturns the failed returns of such.
	False, WrongReturns int
	// Illnesses are how many times an instance was ill, once for each client that called it then, and Found how many of those a client found.
	Illnesses, Found int
	// FoundAfter is how long each client took to find each illness; what it did not find lasted longer than the illness. Ascending.
	FoundAfter []Took
	// ToSick is how many calls clients sent to sick instances before they found them, or until these were well. Ascending.
	ToSick []int64
	// BackAfter is how long after its cure an instance had its share of the traffic again, once for each client. Ascending.
	BackAfter []Took
}

// Took is a time that something took.
type Took struct {
	// After is the time. When Over is true it is only how long it was waited for: it was not there then.
	After time.Duration
	Over  bool
}

// FailedShare returns which share of the calls failed.
func (f *Figures) FailedShare() float64 { return f.Counts.FailedShare() }

// Middle returns the median of an ascending list, which is the lower one of two, and false if there is none.
func Middle[T any](list []T) (T, bool) {
	if len(list) == 0 {
		var none T
		return none, false
	}
	return list[(len(list)-1)/2], true
}

// add adds a run.
func (f *Figures) add(r *sim.Result) {
	f.Runs++
	addCounts(&f.Counts, &r.Totals)
	if f.Instances == nil {
		f.Instances = make([]sim.InstanceResult, len(r.Instances))
	}
	for i := range r.Instances {
		sum, in := &f.Instances[i], &r.Instances[i]
		sum.Address, sum.Region = in.Address, in.Region
		sum.Tries += in.Tries
		sum.Failures += in.Failures
		sum.Probes += in.Probes
		sum.Quarantines += in.Quarantines
		sum.False += in.False
		sum.MaxInFlight = max(sum.MaxInFlight, in.MaxInFlight)
		if f.Counts.Tries > 0 {
			sum.Share = float64(sum.Tries) / float64(f.Counts.Tries)
		}
	}
	for i := range r.Clients {
		f.Quarantines += r.Clients[i].Quarantines
		f.Fallbacks += r.Clients[i].Fallbacks
	}
	f.False += len(r.False)
	f.WrongReturns += len(r.WrongReturns)
	for i := range r.Illnesses {
		f.illness(r, i)
	}
}

func addCounts(sum, c *sim.Counts) {
	sum.Calls += c.Calls
	sum.Failed += c.Failed
	sum.Blocked += c.Blocked
	sum.NoInstance += c.NoInstance
	sum.Tries += c.Tries
	sum.Retries += c.Retries
	sum.Failures += c.Failures
	sum.Timeouts += c.Timeouts
	sum.Probes += c.Probes
	sum.Latency += c.Latency
}

// illness adds how an illness was found and how the instance came back.
func (f *Figures) illness(r *sim.Result, i int) {
	il := &r.Illnesses[i]
	end := r.Scenario.Length
	lasted := min(il.Until, end) - il.From
	for client, found := range il.Found {
		if !found.Found && found.Tries == 0 {
			continue // whoever calls it not cannot find out
		}
		f.Illnesses++
		f.ToSick = append(f.ToSick, found.Tries)
		if !found.Found {
			f.FoundAfter = append(f.FoundAfter, Took{lasted, true})
			continue
		}
		f.Found++
		f.FoundAfter = append(f.FoundAfter, Took{After: found.After})
		if il.Until >= end {
			continue
		}
		if back, ok := backAfter(r, i, client); ok {
			f.BackAfter = append(f.BackAfter, back)
		}
	}
}

// backAfter returns how long after an illness the instance had its share of a client's traffic again. It reports false if it was ill again before that.
func backAfter(r *sim.Result, illness, client int) (Took, bool) {
	il := &r.Illnesses[illness]
	back := Took{}
	for _, a := range r.Absences {
		if a.Client == client && a.Instance == il.Instance && a.From <= il.Until && a.Until > il.Until {
			back.After, back.Over = a.Until-il.Until, a.Until == sim.Forever
			break
		}
	}
	if back == (Took{}) {
		back = regionBackAfter(r, il, client)
	}
	again := r.Scenario.Length
	for i := range r.Illnesses[illness+1:] {
		if next := &r.Illnesses[illness+1+i]; next.Instance == il.Instance {
			again = next.From
			break
		}
	}
	if again < r.Scenario.Length && (back.Over || il.Until+back.After > again) {
		return Took{}, false
	}
	if back.Over {
		back.After = r.Scenario.Length - il.Until
	}
	return back, true
}

// regionBackAfter returns how long after an illness a client that had left the instance's whole region took it up again entirely.
func regionBackAfter(r *sim.Result, il *sim.Illness, client int) Took {
	left := false
	for i := range r.Events {
		e := &r.Events[i]
		if e.Client != client || e.Instance >= 0 || e.Address == "" || e.Address != r.Instances[il.Instance].Region {
			continue
		}
		switch e.Kind {
		case isolation.EventQuarantined:
			if e.At > il.Until && !left {
				return Took{} // for something later
			}
			left = true
		case isolation.EventInService:
			if left && e.At > il.Until {
				return Took{After: e.At - il.Until}
			}
			left = false
		}
	}
	return Took{Over: left}
}

// sort puts the times in order.
func (f *Figures) sort() {
	byTime := func(a, b Took) int {
		if a.Over != b.Over {
			if a.Over {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.After, b.After)
	}
	slices.SortFunc(f.FoundAfter, byTime)
	slices.SortFunc(f.BackAfter, byTime)
	slices.Sort(f.ToSick)
}
