// Package paramflow limits calls by a value inside them: so many per user, per tenant, per account.
//
// Its promise, in mode reject: for every value, and for every interval of any length T, no more than burst + rate×T calls are admitted, whatever other
// values arrive. In mode pace no two calls of one value come closer than its distance. In mode concurrency what is in flight is counted exactly for every value.
// No churn of values can make a limiter forget one, and none can make it grow: its memory is taken when the rule is loaded.
//
// How it holds that: a value's past is one number, the time until which its calls count. A value in use has a cell of its own for it, in one of two places
// that a keyed hash names, and keeps it as long as its past counts; so it is limited exactly, however hot others are. Only when both places are full, far beyond the
// number of values that the rule was made for, does a value share cells with others that found no room either. These hold the latest time of all who share them,
// which can refuse a value too early and never admits too much. Pressure tells how near that is. Values with an override of their own have their place apart, and
// always.
package paramflow
