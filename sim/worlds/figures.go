package worlds

import (
	"time"

	"github.com/cordon-go/cordon/sim"
)

// Figures are what a run in a world comes to.
type Figures struct {
	// Found is how long after its onset the last of the sick instances was taken out for the first time; sim.Forever if one never was.
	Found time.Duration
	// Tries is the most calls that a sick instance got before it was taken out for the first time.
	Tries int64
	// SickShare is which share of all calls the sick instances got.
	SickShare float64
	// False counts the quarantines of instances that were well, and WrongReturns those of well ones that failed their probes by chance.
	False, WrongReturns int
	// Fallbacks counts how often isolation switched itself off.
	Fallbacks int
	// NoInstance counts the calls that found no instance.
	NoInstance int64
	// Failed is which share of the calls failed, FailedAtFirst which share in the first ten seconds (of whole rows of the series).
	Failed, FailedAtFirst float64
	// Full is how long after the last cure all instances had their full weight again, for good; sim.Forever if they did not.
	Full time.Duration
}

// Measure runs the world once.
func (w World) Measure(p sim.Policy, seed uint64) (Figures, error) {
	s := w.Scenario
	s.Seed = seed
	r, err := sim.Run(s, p)
	if err != nil {
		return Figures{}, err
	}
	return figures(r, w.cured()), nil
}

// cured returns when the last outage of all is over; -1 if there is none.
func (w World) cured() time.Duration {
	last := time.Duration(-1)
	for _, script := range w.Scenario.Common {
		if d, ok := script.(sim.During); ok && d.Until > 0 {
			last = max(last, d.Until)
		}
	}
	return last
}

func figures(r *sim.Result, cured time.Duration) Figures {
	f := Figures{
		False: len(r.False), WrongReturns: len(r.WrongReturns), NoInstance: r.Totals.NoInstance, Failed: r.Totals.FailedShare(),
	}
	for i := range r.Clients {
		f.Fallbacks += r.Clients[i].Fallbacks
	}
	seen := make([]bool, len(r.Instances))
	for i := range r.Illnesses {
		il := &r.Illnesses[i]
		if il.Until != sim.Forever {
			cured = max(cured, il.Until)
		}
		if seen[il.Instance] {
			continue
		}
		seen[il.Instance] = true
		f.SickShare += r.Instances[il.Instance].Share
		for _, find := range il.Found {
			if !find.Found {
				f.Found = sim.Forever
				continue
			}
			f.Found = max(f.Found, find.After)
			f.Tries = max(f.Tries, find.Tries)
		}
	}
	var first sim.Counts
	for i := range r.Series {
		if r.Series[i].From < 10*time.Second {
			first.Calls += r.Series[i].Counts.Calls
			first.Failed += r.Series[i].Counts.Failed
		}
	}
	f.FailedAtFirst = first.FailedShare()
	for _, a := range r.Absences {
		switch {
		case cured < 0 || a.From > cured || a.Until <= cured:
		case a.Until == sim.Forever:
			f.Full = sim.Forever
		default:
			f.Full = max(f.Full, a.Until-cured)
		}
	}
	return f
}
