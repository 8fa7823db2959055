// Package breaker stops calls to what keeps failing, and lets single probes find out when it is well again.
//
// A Breaker is Closed at first: calls pass, and their results are counted. When too many of them are bad (see Trip)
// it opens: calls are refused for a while. Then it is half-open: a few calls, the probes, pass and decide. Enough
// good probes close it, and one bad probe opens it again, for longer each time if the rule says so.
//
// A Breaker is usable alone, without the engine. Its methods take the time as an argument (a reading of a clock, see
// package clock), never read a clock, never wait, and are safe for concurrent use. Readings of racing callers may
// arrive a little out of order: no open time and no lease is then off by more than that disorder.
//
// Every admitted call holds a Permit, stamped with the state that admitted it. A result that arrives after that
// state has passed is ignored: a call from before the outage can neither close nor reopen anything.
package breaker
