package sim

import (
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// Policy decides which instances are called. Implementations are plain values without state; what a client learns is in its Session.
type Policy interface {
	// String returns the policy's name for tables.
	String() string
	// Open begins a client's view of the service, which has no instances yet.
	Open(e Environment) (Session, error)
}

// Environment is what a session gets from the kit.
type Environment struct {
	// Service is the scenario's name.
	Service string
	// Client is the client's place in Scenario.Clients, and Region its region.
	Client int
	Region string
	// Seed seeds the session's random choices; it is not 0, and differs from client to client.
	Seed uint64
	// Instances is how many instances the scenario has: all ids are below.
	Instances int
	// Decided is to be told of the session's decisions about instances, in order of time. EventQuarantined and EventFallbackOn are needed
	// for the figures of a Result, the others for those who read them. Instance is the id, -1 if it is about none; Client is filled in by the kit.
	Decided func(Event)
}

// Session is one client's view of the service. The kit calls it from one goroutine, with times that do not go back.
type Session interface {
	// Update replaces the list of instances.
	Update(now time.Duration, list []Listed)
	// Pick chooses the instance for a try and counts it as under way. It reports false if there is none to call.
	Pick(now time.Duration, try Try) (Choice, bool)
	// Done says how a try ended.
	Done(now time.Duration, c Choice, outcome isolation.Outcome, latency time.Duration)
	// Tick does what is due. It is called every Scenario.Tick.
	Tick(now time.Duration)
	// Weights sets for each listed id which part of its fair weight it has now: 1 in full service, 0 when it is out or only probed. What it does
	// not set is 1.
	Weights(now time.Duration, weights []float64)
	// Close ends it.
	Close()
}

// Listed is an instance as the registry lists it.
type Listed struct {
	// ID is its place in Scenario.Instances.
	ID int
	isolation.Instance
}

// Try is a call that looks for an instance.
type Try struct {
	// Hash is a random number that stays the same for a call's retries.
	Hash uint64
	// Tried are the ids of instances that have failed this call: to be chosen only if there is no other. It is only valid during Pick.
	Tried []int
}

// Choice is the instance that was picked.
type Choice struct {
	// ID is its place in Scenario.Instances.
	ID int
	// Ticket is the session's own: the kit hands it back to Done.
	Ticket int
	// Probe says that the try decides over the instance's return.
	Probe bool
}

// Event is a decision of a client's session.
type Event struct {
	isolation.Event
	// Client is the client's place in Scenario.Clients, Instance the instance's in Scenario.Instances; -1 if the decision is about no single one: about all, or
	// about the region whose name Address is.
	Client, Instance int
}
