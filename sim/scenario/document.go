package scenario

import "time"

// Document is what a scenario's document says. A zero field means its default.
type Document struct {
	// Version is the version of the document: 1. Required.
	Version int `rule:"cordon-sim"`
	// Service is the service's name: isolation rules are chosen by it, and it is the resource of all loads that name none; default
	// "service".
	Service string `rule:"service"`
	// Length is how long the scenario lasts, up to 1000h. Required.
	Length time.Duration `rule:"length"`
	// Seed seeds everything that is random: runs with the same seed are the same; default 0.
	Seed uint64 `rule:"seed"`
	// Seeds is how many times the scenario is run, with one seed after the other, 1 to 10,000; default 1.
	Seeds int `rule:"seeds"`
	// Bucket is how much time one point of a chart covers, 10ms or more; default a hundredth of Length.
	Bucket time.Duration `rule:"bucket"`
	// Tick is how often clients do what is due though no call comes, 1ms or more; default 100ms.
	Tick time.Duration `rule:"tick"`
	// Grace is how long after an instance's cure its quarantine still counts as right, for calls that began while it was ill; default 0.
	Grace time.Duration `rule:"grace"`
	// Instances are the service's, in groups of such as are alike. Required.
	Instances []Instances `rule:"instances"`
	// Regions are illnesses of whole regions.
	Regions []Region `rule:"regions"`
	// Common are scripts that all instances share, as a dependency that is down for all. They make no instance ill: whoever takes one
	// out for them is wrong. They are drawn once for all.
	Common []Script `rule:"common"`
	// Clients are the processes that call the service, in groups of such as are alike. Required.
	Clients []Clients `rule:"clients"`
	// Policies are what is tried out, each in runs of its own; default cordon alone.
	Policies []Policy `rule:"policies"`
	// Rules are the rules that clients have: the isolation rule for the service is what the policy cordon goes by, and each client has
	// an engine with the others. Written as a file's path, a list of files, or the lists of a rule document themselves.
	Rules []RuleFile `rule:"rules"`
}

// Instances are instances that are alike.
type Instances struct {
	// Count is how many there are, 1 to 100,000; default 1.
	Count int `rule:"count"`
	// Name is the address, with "-0", "-1" and so on behind it if there are several; default "i0", "i1" and so on, by the place among all.
	Name string `rule:"name"`
	// Weight is each one's share of the traffic relative to others', above 0; default 1.
	Weight float64 `rule:"weight"`
	// Region is where they stand; default: not known.
	Region string `rule:"region"`
	// Base is how they fare when they are well.
	Base Condition `rule:"base"`
	// Ill are the scripts of their illnesses, on top of Base; those with chance in them are drawn for each by itself.
	Ill []Script `rule:"ill"`
	// Absent are the times at which the registry does not list them.
	Absent []Span `rule:"absent"`
	// Drained are the times at which the registry lists them as drained.
	Drained []Span `rule:"drained"`
	// Capacity is how many calls per second each can take: above it, all fail until they are fewer; default: any number.
	Capacity float64 `rule:"capacity"`
	// Workers is how many calls each works on at one time, while others wait in line; default: any number.
	Workers int `rule:"workers"`
	// Queue is how many calls may wait in line for workers, further ones fail at once; default: any number.
	Queue int `rule:"queue"`
	// Rules are the rules that each protects itself by in an engine of its own, written as those of clients. They must not make calls wait.
	Rules []RuleFile `rule:"rules"`
}

// Region is a region whose instances fall ill together.
type Region struct {
	// Name is the region's. Required, each once.
	Name string `rule:"name"`
	// Ill are scripts that all its instances have, besides their own. Required.
	Ill []Script `rule:"ill"`
}

// Span is a stretch of time.
type Span struct {
	// From is when it begins; default 0, the beginning.
	From time.Duration `rule:"from"`
	// Until is when it ends; default: the end of the scenario.
	Until time.Duration `rule:"until"`
}

// Condition is how an instance fares. Conditions that hold at one time add up.
type Condition struct {
	// Failures is the share of calls that fail, 0 to 1.
	Failures float64 `rule:"failures"`
	// Throttles is the share of calls that are answered with "not now" (429), 0 to 1.
	Throttles float64 `rule:"throttles"`
	// Latency is how long a call takes; default: no time.
	Latency Latency `rule:"latency"`
	// FailFast makes the calls that fail be answered at once, instead of after the latency.
	FailFast bool `rule:"failFast"`
	// Down makes the instance refuse connections, and lose the calls under way when it goes down.
	Down bool `rule:"down"`
	// Hangs makes the instance take calls and never answer: all clients must have a timeout then.
	Hangs bool `rule:"hangs"`
}

// Script is something that happens for a time: a condition, all the time or by Flap in turns with good times, or one of Noisy, Shocks and
// Restart.
type Script struct {
	// From is when it begins; default 0, the beginning.
	From time.Duration `rule:"from"`
	// Until is when it ends; default: the end of the scenario. Not for a restart.
	Until time.Duration `rule:"until"`
	// Failures is the share of calls that fail besides, 0 to 1.
	Failures float64 `rule:"failures"`
	// Throttles is the share of calls that are answered with "not now" (429) besides, 0 to 1.
	Throttles float64 `rule:"throttles"`
	// Latency is how much longer a call takes.
	Latency Latency `rule:"latency"`
	// FailFast makes the calls that fail be answered at once, instead of after the latency.
	FailFast bool `rule:"failFast"`
	// Down makes the instance refuse connections, and lose the calls under way when it goes down.
	Down bool `rule:"down"`
	// Hangs makes the instance take calls and never answer: all clients must have a timeout then.
	Hangs bool `rule:"hangs"`
	// Flap makes the condition come and go.
	Flap *Flap `rule:"flap"`
	// Noisy fails a share of calls that is drawn anew again and again.
	Noisy *Noisy `rule:"noisy"`
	// Shocks are moments of failure that come at random.
	Shocks *Shocks `rule:"shocks"`
	// Restart is a restart, or one again and again.
	Restart *Restart `rule:"restart"`
}

// Flap makes a condition come and go.
type Flap struct {
	// Bad is how long the condition holds each time, beginning with it. Required.
	Bad time.Duration `rule:"bad"`
	// Good is how long it does not. Required.
	Good time.Duration `rule:"good"`
}

// Noisy fails a share of calls that is drawn anew again and again.
type Noisy struct {
	// Min is the smallest share, 0 to 1; default 0.
	Min float64 `rule:"min"`
	// Max is the largest share, up to 1. Required.
	Max float64 `rule:"max"`
	// Every is the mean time between two draws. Required.
	Every time.Duration `rule:"every"`
}

// Shocks are moments of failure that come at random.
type Shocks struct {
	// Every is the mean time between a shock's end and the next. Required.
	Every time.Duration `rule:"every"`
	// Shortest is how long a shock lasts at least; default 0.
	Shortest time.Duration `rule:"shortest"`
	// Longest is how long it lasts at most. Required.
	Longest time.Duration `rule:"longest"`
	// Min is the smallest share of failures in a shock, 0 to 1; default 0.
	Min float64 `rule:"min"`
	// Max is the largest share, up to 1; default 1.
	Max float64 `rule:"max"`
}

// Restart is a restart: calls under way are lost, connections refused for a time, and the fresh process is slow at first. It begins when
// the script does.
type Restart struct {
	// Down is how long connections are refused. Required.
	Down time.Duration `rule:"down"`
	// Warmup is how long it is slow afterwards; default 0.
	Warmup time.Duration `rule:"warmup"`
	// Slow is by how much it is slow. Required with a warmup.
	Slow Latency `rule:"slow"`
	// Every is after what time it does so again; default: never.
	Every time.Duration `rule:"every"`
}

// Clients are client processes that are alike, each with its own view of the service.
type Clients struct {
	// Count is how many there are, 1 to 1000; default 1.
	Count int `rule:"count"`
	// Name is the name, and the origin that rules by caller see, with "-0", "-1" and so on behind it if there are several; default "c0", "c1" and so on.
	Name string `rule:"name"`
	// Region is where they stand; default: not known.
	Region string `rule:"region"`
	// Load is what each of them calls: calls per second, an object, or a list of such. Required.
	Load []Stream `rule:"load"`
	// Timeout is after what time they give a call to an instance up; default: never.
	Timeout time.Duration `rule:"timeout"`
	// Retry says what they do with failed calls; default: nothing.
	Retry Retry `rule:"retry"`
	// Policy is one that they have whatever is tried out otherwise; default: that which is tried out.
	Policy Policy `rule:"policy"`
}

// Stream is a stream of calls. They come whether or not earlier ones have ended.
type Stream struct {
	// Rate is how many calls per second there are on average, up to 10,000,000; default 0, for one that begins by a change.
	Rate float64 `rule:"rate"`
	// Resource is what rules know these calls as; default the service's name.
	Resource string `rule:"resource"`
	// Steady makes them come at equal distances, instead of at random (a Poisson process).
	Steady bool `rule:"steady"`
	// Changes set the rate anew, in order of time.
	Changes []Change `rule:"changes"`
}

// Change is a change of a load's rate.
type Change struct {
	// At is when. Required.
	At time.Duration `rule:"at"`
	// Rate is how many calls per second there are from then on. Required.
	Rate float64 `rule:"rate"`
}

// Retry says how often, when and at whose expense a failed call is tried again, on another instance if there is one.
type Retry struct {
	// Max is how often at most, 0 to 10; default 0.
	Max int `rule:"max"`
	// Wait is the time before the first retry, doubled each further time and varied by half up and down; default 0.
	Wait time.Duration `rule:"wait"`
	// Budget is which share of a client's calls may be retries, above 0 up to 1; default: no such limit.
	Budget float64 `rule:"budget"`
	// BudgetMin is how many retries per second a budget allows in any case, above 0; default 3.
	BudgetMin float64 `rule:"budgetMin"`
}

// RuleFile is a file of rules.
type RuleFile struct {
	// File is its path, relative to the scenario's folder. Required.
	File string `rule:"file"`
	// Sentinel says that it is a document of Sentinel Java or sentinel-golang, and about what: flow, breaker, isolation or authority; default: it is a
	// rule document of cordon's own.
	Sentinel string `rule:"sentinel"`
}
