// Package stat counts calls in sliding windows and measures their latency.
//
// Everything here takes the current time as an argument (a reading of a clock, see
// package clock), never reads a clock itself, and never takes a lock on the path of a call.
// A time before the clock's origin counts as the origin.
package stat
