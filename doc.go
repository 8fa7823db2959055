// Package cordon is an embeddable resilience engine. A program wraps its calls in it; cordon counts
// them in sliding windows, limits them by rate and by concurrency, breaks circuits, takes sick
// instances of a service out of service, protects the process from overload, turns away who may not
// call, and takes new rules without a restart and without forgetting anything.
//
// # A call
//
// An [Engine] holds rules and statistics. [Engine.Do] and [Call] run a function if the rules admit
// the call; [Engine.Enter] and [Entry.Exit] are the two halves of that, and [Engine.Resource] gives a
// handle for paths on which the look-up of the name counts.
//
// Every check reserves what it admits: who may call, the process's own limits (of inbound calls),
// breakers, concurrency and rates (both by values inside the call too), checks of one's own, and last
// what may wait (queues, pacing). The first that refuses gives back what was reserved before it, and the caller gets a [BlockedError], which says which rule refused, what was seen, and when it is
// worth trying again. A call is two readings of the clock and no allocation, admitted or refused.
//
// # Rules
//
// [Rules] are plain structs of packages flow, breaker, isolation, paramflow, system, authority and
// apigroup, put in force by [Engine.Apply], or brought by a datasource.Source that [Engine.Watch] watches, read by a [Decoder]: [Native] for cordon's own documents, those
// of package sentinel for Sentinel's. An update is checked as a whole, built beside what is in force,
// and put in force by one atomic store; state is kept by the rules' ids. What cannot be read, or has
// a fault, changes nothing.
//
// # Instances
//
// [Engine.NewGroup] returns a group of the instances of a service (package isolation), which follows
// the isolation rules: it says who is in service, and learns from how calls ended. Package balance
// chooses one of them.
//
// # Values
//
// Rules on hot parameters (package paramflow) limit by a value inside the call: a field of an argument,
// a header, a member of a body. [Request] brings what they look into, and a path (package extractor)
// says where.
//
// # Process and callers
//
// System rules (package system) look at the whole process and machine: CPU, load, response time,
// concurrency, rate; calls with [Request.Inbound] are refused while it is overloaded. Authority rules (package
// authority) say which origins may call a resource. Groups of paths (package apigroup) give HTTP
// requests a further resource, which rules of any kind may be for.
//
// # Watching it
//
// [Observer] tells of refusals, breaker transitions, decisions on instances, rule reports and internal faults;
// [Engine.Snapshot] is everything at one moment. Any rule may run in shadow, where it counts what it
// would have refused.
package cordon
