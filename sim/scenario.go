package sim

import (
	"time"

	"github.com/cordon-go/cordon"
)

// Scenario is one service, those who call it, and what happens to them. Scenarios are plain data; Run changes nothing in them, so that
// one may be run many times, also concurrently (as long as its scripts are of this package, or safe for that).
type Scenario struct {
	// Name is for people, and the name of the service.
	Name string
	// Length is how long it lasts in virtual time. Required, up to 1000h.
	Length time.Duration
	// Seed seeds everything that is random. Runs with the same seed are the same; 0 is a seed like any other.
	Seed uint64
	// Bucket is how much time one row of Result.Series covers, 10ms or more; default a hundredth of Length.
	Bucket time.Duration
	// Tick is how often clients do what is due though no call comes, and weights are looked at, 1ms or more; default 100ms.
	Tick time.Duration
	// Grace is how long after an instance's cure its quarantine is still no false one: calls that it got while it was ill may end
	// later. Default 0, which suits calls that take no time.
	Grace time.Duration
	// Instances are the service's. At least one.
	Instances []Instance
	// Common are scripts that all instances share, as a dependency that is down for all. They make no instance ill in the sense of
	// Instance.Ill: whoever takes one out for it is wrong. Each is played once and has the same moods for all.
	Common []Script
	// Clients are those who call, each with its own view of the service. At least one.
	Clients []Client
}

// Instance is one instance of the service.
type Instance struct {
	// Address identifies it; no two have the same. Default: "i0", "i1" and so on, by its place in Scenario.Instances.
	Address string
	// Weight is its share of the traffic relative to others'; default 1.
	Weight float64
	// Region is where it stands.
	Region string
	// Base is how it fares when it is well.
	Base Condition
	// Ill are the scripts of its illnesses. They come on top of Base and Common, and while one of them says anything but
	// the zero Condition, the instance is ill: it should be taken out.
	Ill []Script
	// Absent are the times at which the registry does not list it.
	Absent []Span
	// Drained are the times at which the registry lists it as drained.
	Drained []Span
	// Capacity is how many calls per second it can take, as an average over five seconds or so; above that it collapses and all its calls
	// fail until they are fewer. While it is down by this it is ill. Default 0: any number.
	Capacity float64
	// Workers is how many calls it works on at one time; others wait in line. Default 0: any number.
	Workers int
	// Queue is how many calls may wait in line for workers; further ones fail at once (throttled). Default 0: any number.
	Queue int
	// Guard is a set of rules that the instance protects itself by, each instance in its own engine. What it refuses is answered
	// at once as throttled. Nil: none. Rules that make calls wait are not possible here.
	Guard *Guard
}

// Instances returns n instances like the one given, without address: they get their default ones.
func Instances(n int, like Instance) []Instance {
	list := make([]Instance, n)
	for i := range list {
		list[i] = like
		list[i].Address = ""
	}
	return list
}

// Span is a time from From up to Until, which it does not include. An Until of 0 is the end of the scenario.
type Span struct {
	From, Until time.Duration
}

// Contains reports whether the time is in the span.
func (s Span) Contains(at time.Duration) bool { return at >= s.From && (s.Until == 0 || at < s.Until) }

// Client is one process that calls the service, with its own view of it.
type Client struct {
	// Name is for people, and the origin that its guard sees; default "c0", "c1" and so on.
	Name string
	// Region is where it stands.
	Region string
	// Policy decides which instance it calls; nil: the one given to Run.
	Policy Policy
	// Loads are the calls that it makes. At least one.
	Loads []Load
	// Timeout is after what time it gives a call to an instance up, which counts as a failure; 0: never.
	Timeout time.Duration
	// Retry says what it does with failed calls; the zero Retry gives up.
	Retry Retry
	// Guard is an engine that each call must pass before an instance is chosen, and that learns how it ended, retries and all. Nil: none.
	Guard *Guard
}

// Load is a stream of calls of one kind. They come whether or not earlier ones have ended.
type Load struct {
	// Resource is what the client's guard knows these calls as; default the scenario's name.
	Resource string
	// Rate is how many calls per second there are on average, 0 or more up to 10,000,000.
	Rate float64
	// Steady makes them come at equal distances; otherwise they come at random (a Poisson process).
	Steady bool
	// Changes set the rate anew at times, in order of time.
	Changes []RateChange
}

// RateChange is a change of a load.
type RateChange struct {
	// At is when.
	At time.Duration
	// Rate is how many calls per second there are from then on.
	Rate float64
}

// Retry says how often, when and at whose expense a failed call is tried again. Every try is on another instance if there is one.
type Retry struct {
	// Max is how often a call is tried again at most, 0 to 10; default 0.
	Max int
	// Wait is the time before the first retry, doubled each further time and varied by half up and down; default 0.
	Wait time.Duration
	// Budget is which share of a client's calls may be retries, above 0 up to 1, counted over the last 10 s; 0: no such limit.
	Budget float64
	// BudgetMin is how many retries per second a budget allows in any case; default 3.
	BudgetMin float64
}

// Guard is an engine of one's own beside the calls, with its rules, on the virtual clock.
type Guard struct {
	// Rules are its rules.
	Rules cordon.Rules
	// Options are further options for the engine; WithClock and WithRules are the kit's.
	Options []cordon.Option
}
