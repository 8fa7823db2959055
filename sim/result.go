package sim

import (
	"time"

	"github.com/cordon-go/cordon"
)

// Result is what came of a run.
type Result struct {
	// Scenario is what was run, with its defaults filled in, and Policy what ran in it.
	Scenario Scenario
	Policy   string
	// Totals is the sum of everything.
	Totals Counts
	// Instances are the tries by instance, Clients what each client saw.
	Instances []InstanceResult
	Clients   []ClientResult
	// Series is the same over time, a row for each Scenario.Bucket.
	Series []Bucket
	// Events are all decisions of the clients' sessions, in the order they came. (What was due before it was noticed is dated back.)
	Events []Event
	// Illnesses are the times at which instances were ill, in order of their onset, and how they were found.
	Illnesses []Illness
	// False are the quarantines of instances that were well, in order of time: verdicts on instances in service, or on a whole region none of whose
	// instances was ill. WrongReturns are those that were well but
	// failed their probes by chance, and stayed out.
	False, WrongReturns []Event
	// Absences are the times at which a client gave an instance less than 90 % of its fair weight, in order of their beginning.
	Absences []Absence
}

// Counts count calls, as their callers see them, and tries, as instances see them.
type Counts struct {
	// Calls is how many calls were begun, Failed how many of those that ended had no success, whyever.
	Calls, Failed int64
	// Blocked is how many of the failed ones a client's guard refused, NoInstance how many found no instance to call.
	Blocked, NoInstance int64
	// Tries is how many times an instance was called, Retries how many of those were retries, Failures how many of those that ended failed,
	// Timeouts how many of these by the client's timeout. Probes is how many tries were probes.
	Tries, Retries, Failures, Timeouts, Probes int64
	// Latency is the sum of the latencies of the calls that succeeded.
	Latency time.Duration
}

// FailedShare returns which share of the calls failed, 0 without calls.
func (c *Counts) FailedShare() float64 {
	if c.Calls == 0 {
		return 0
	}
	return float64(c.Failed) / float64(c.Calls)
}

// InstanceResult is what one instance saw.
type InstanceResult struct {
	// Address and Region are the instance's.
	Address, Region string
	// Tries, Failures and Probes are as in Counts.
	Tries, Failures, Probes int64
	// Share is which share of all tries it got.
	Share float64
	// Quarantines is how often a client put it out, False how many of those were false.
	Quarantines, False int
	// MaxInFlight is the most calls that it had at one time.
	MaxInFlight int
}

// ClientResult is what one client saw.
type ClientResult struct {
	// Name is the client's.
	Name string
	// Counts are its calls.
	Counts Counts
	// Quarantines and Fallbacks are how often its session put an instance out, and switched itself off.
	Quarantines, Fallbacks int
	// Guard is its engine's last state; nil without one.
	Guard *cordon.Snapshot
}

// Bucket is a stretch of time.
type Bucket struct {
	// From is when it begins.
	From time.Duration
	// Counts are the calls and tries that ended in it (those begun: that began in it).
	Counts Counts
	// Instances are the tries by instance.
	Instances []BucketInstance
}

// BucketInstance is what an instance saw in a stretch of time.
type BucketInstance struct {
	// Tries is how many tries began, Failures how many failed ones ended.
	Tries, Failures int32
	// Out is how many clients had it out of service at the end; Ill says whether it was ill then.
	Out int32
	Ill bool
}

// Illness is a time at which an instance was ill.
type Illness struct {
	// Instance is the instance's place in Scenario.Instances.
	Instance int
	// From is its onset and Until its cure; Forever if it was ill at the end.
	From, Until time.Duration
	// Found is, by client, how it was found.
	Found []Find
}

// Find is how a client found an illness.
type Find struct {
	// Found is false if it did not.
	Found bool
	// After is how long after the onset the instance was put out for the first time.
	After time.Duration
	// Tries is how many tries the client sent there in that time: those that had begun. If it did not find it, in all the time of the illness.
	Tries int64
}

// Absence is a time at which a client gave an instance less than 90 % of its fair weight.
type Absence struct {
	// Client and Instance are their places in the scenario.
	Client, Instance int
	// From is when it was put out, and Until when it was seen to have its weight again, by the tick; Forever if it had not at the end.
	From, Until time.Duration
}
