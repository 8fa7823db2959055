package main

import (
	"github.com/cordon-go/cordon/cmd/cordon/internal/trial"
	"github.com/cordon-go/cordon/sim"
)

// simJSON is the report as sim --json prints it. Times are in seconds, and counts are sums over all runs.
type simJSON struct {
	Service  string          `json:"service"`
	Length   float64         `json:"length"`
	Seed     uint64          `json:"seed"`
	Runs     int             `json:"runs"`
	Policies []simPolicyJSON `json:"policies"`
}

type simPolicyJSON struct {
	Policy      string  `json:"policy"`
	Calls       int64   `json:"calls"`
	Failed      int64   `json:"failed"`
	FailedShare float64 `json:"failedShare"`
	Refused     int64   `json:"refused"`
	NoInstance  int64   `json:"noInstance"`
	Tries       int64   `json:"tries"`
	Retries     int64   `json:"retries"`
	Timeouts    int64   `json:"timeouts"`
	Probes      int64   `json:"probes"`
	Illnesses   int     `json:"illnesses"`
	Found       int     `json:"found"`
	// FoundAfter and BackAfter are absent when there is nothing to be found, or nobody came back.
	FoundAfter   *simTimesJSON     `json:"foundAfter,omitempty"`
	CallsToSick  *simCountsJSON    `json:"callsToSick,omitempty"`
	Quarantines  int               `json:"quarantines"`
	False        int               `json:"false"`
	WrongReturns int               `json:"wrongReturns"`
	Fallbacks    int               `json:"fallbacks"`
	BackAfter    *simTimesJSON     `json:"backAfter,omitempty"`
	Instances    []simInstanceJSON `json:"instances"`
	// Events are those of the first run; absent unless they are asked for.
	Events []simEventJSON `json:"events,omitempty"`
}

// simTimesJSON is a median and a worst time. One that was exceeded is how long it was waited for.
type simTimesJSON struct {
	Median         float64 `json:"median"`
	MedianExceeded bool    `json:"medianExceeded,omitempty"`
	Worst          float64 `json:"worst"`
	WorstExceeded  bool    `json:"worstExceeded,omitempty"`
}

type simCountsJSON struct {
	Median int64 `json:"median"`
	Worst  int64 `json:"worst"`
}

type simInstanceJSON struct {
	Address     string  `json:"address"`
	Region      string  `json:"region,omitempty"`
	Calls       int64   `json:"calls"`
	Share       float64 `json:"share"`
	Failed      int64   `json:"failed"`
	Probes      int64   `json:"probes"`
	Quarantines int     `json:"quarantines"`
	False       int     `json:"false"`
}

type simEventJSON struct {
	At     float64 `json:"at"`
	Client string  `json:"client"`
	// Instance is the instance that it is about, or Region the region; both are absent if it is about all.
	Instance string `json:"instance,omitempty"`
	Region   string `json:"region,omitempty"`
	Kind     string `json:"kind"`
	Reason   string `json:"reason,omitempty"`
	// Until is when a quarantine ends, absent where nothing has an end.
	Until float64 `json:"until,omitempty"`
	// Strikes is the instance's after the event.
	Strikes float64 `json:"strikes,omitempty"`
	// Shadow is true when the rule only would have done it.
	Shadow bool `json:"shadow,omitempty"`
}

func (r *simReport) toJSON() simJSON {
	s := &r.file.Scenario
	j := simJSON{Service: s.Name, Length: s.Length.Seconds(), Seed: s.Seed, Runs: r.file.Seeds, Policies: []simPolicyJSON{}}
	for i := range r.trials {
		p := toPolicyJSON(&r.trials[i])
		if r.events {
			p.Events = toEventsJSON(r.trials[i].First)
		}
		j.Policies = append(j.Policies, p)
	}
	return j
}

func toPolicyJSON(t *trial.Trial) simPolicyJSON {
	f := &t.Figures
	c := &f.Counts
	j := simPolicyJSON{
		Policy: t.Policy, Calls: c.Calls, Failed: c.Failed, FailedShare: c.FailedShare(), Refused: c.Blocked, NoInstance: c.NoInstance,
		Tries: c.Tries, Retries: c.Retries, Timeouts: c.Timeouts, Probes: c.Probes, Illnesses: f.Illnesses, Found: f.Found,
		FoundAfter: toTimesJSON(f.FoundAfter), Quarantines: f.Quarantines, False: f.False, WrongReturns: f.WrongReturns, Fallbacks: f.Fallbacks,
		BackAfter: toTimesJSON(f.BackAfter), Instances: []simInstanceJSON{},
	}
	if middle, ok := trial.Middle(f.ToSick); ok {
		j.CallsToSick = &simCountsJSON{middle, f.ToSick[len(f.ToSick)-1]}
	}
	for i := range f.Instances {
		in := &f.Instances[i]
		j.Instances = append(j.Instances, simInstanceJSON{in.Address, in.Region, in.Tries, in.Share, in.Failures, in.Probes, in.Quarantines, in.False})
	}
	return j
}

func toTimesJSON(list []trial.Took) *simTimesJSON {
	middle, ok := trial.Middle(list)
	if !ok {
		return nil
	}
	worst := list[len(list)-1]
	return &simTimesJSON{middle.After.Seconds(), middle.Over, worst.After.Seconds(), worst.Over}
}

func toEventsJSON(r *sim.Result) []simEventJSON {
	events := []simEventJSON{}
	for i := range r.Events {
		e := &r.Events[i]
		j := simEventJSON{At: e.At.Seconds(), Client: r.Clients[e.Client].Name, Kind: e.Kind.String(), Reason: e.Reason, Strikes: e.Strikes, Shadow: e.Shadow}
		if e.Instance >= 0 {
			j.Instance = e.Address
		} else {
			j.Region = e.Address
		}
		if e.Until > 0 && e.Until < sim.Forever {
			j.Until = e.Until.Seconds()
		}
		events = append(events, j)
	}
	return events
}
