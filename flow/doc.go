// Package flow limits calls by rate and by concurrency.
//
// A Limiter holds one budget of one Rule; a Bulkhead holds one budget of one ConcurrencyRule. Both are safe for
// concurrent use and usable alone, without the engine. A Limiter takes the time as an argument, a reading of a
// clock.Clock; readings of racing callers may arrive in any order. Every mode states its bound, and no bound is ever
// passed, however callers race each other, an Update or a Cancel.
package flow
