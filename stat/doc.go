// Package stat counts calls in sliding windows and measures their latency.
//
// Everything here takes the current time as an argument (a reading of a clock, see
// package clock), never reads a clock itself, and never takes a lock on the path of a call.
package stat

import "time"

// Outcome says how an admitted call ended.
type Outcome uint8

const (
	// Success is a call that the callee answered.
	Success Outcome = iota
	// Failure is a call that the callee failed: an error, a time-out, a panic.
	Failure
	// Ignored is a call that says nothing about the callee: the caller gave up, or the
	// refusal was our own.
	Ignored
)

// String returns "success", "failure" or "ignored".
func (o Outcome) String() string {
	switch o {
	case Success:
		return "success"
	case Failure:
		return "failure"
	case Ignored:
		return "ignored"
	}
	return "unknown"
}

// A Window counts events of several kinds ("counters") over a sliding length of time, cut
// into buckets. Each counter of a bucket is one word that carries the bucket's number (24
// bits) beside its count (40 bits), so that an addition is one atomic operation, needs no
// lock at the roll, and is either in the bucket its time belongs to or reported late, never in a
// wrong one and never lost.
type Window struct{}

// NewWindow returns a window of buckets × bucket in length with the given number of
// counters. It panics unless bucket ≥ 1µs, 1 ≤ buckets ≤ 4096 and 1 ≤ counters ≤ 64.
func NewWindow(bucket time.Duration, buckets, counters int) *Window { panic("stub") }

// Bucket returns the number of the bucket that now falls into, for AddAt. Taking it once
// serves several additions of one call.
func (w *Window) Bucket(now time.Duration) int64 { panic("stub") }

// Add adds n (≥ 0; more than 2^40-1 counts as that) to a counter at time now, and reports whether the bucket of
// now was still in the window: a late addition is counted in Late and in Total only.
func (w *Window) Add(now time.Duration, counter int, n int64) bool { panic("stub") }

// AddAt is Add with the bucket's number.
func (w *Window) AddAt(bucket int64, counter int, n int64) bool { panic("stub") }

// Sum returns the counter's sum over the window that ends at now: the running bucket and
// the buckets-1 full ones before it.
func (w *Window) Sum(now time.Duration, counter int) int64 { panic("stub") }

// Sums adds every counter's sum to dst, which must have one element per counter.
func (w *Window) Sums(now time.Duration, dst []int64) { panic("stub") }

// Total returns all that was ever added to the counter, late additions included. It never goes back.
func (w *Window) Total(counter int) int64 { panic("stub") }

// Late returns how much was added to the counter too late to be in the window.
func (w *Window) Late(counter int) int64 { panic("stub") }

// Reset empties the window (not the totals): whatever was added with a time before now is
// no longer in any sum.
func (w *Window) Reset(now time.Duration) { panic("stub") }

// Each calls f for every bucket of the window that ends at now, oldest first, with the
// bucket's start and its counters. counts is reused between calls.
func (w *Window) Each(now time.Duration, f func(start time.Duration, counts []int64)) { panic("stub") }

// Length returns the window's length.
func (w *Window) Length() time.Duration { panic("stub") }

// A Histogram measures latencies over the last one to two spans of time, in fixed
// log-linear cells with a relative error of at most 1/16 (from 1µs to 100s; beyond, the end
// cells). It allocates its cells when a span begins, not per observation.
// The zero value is not ready: use NewHistogram.
type Histogram struct{}

// NewHistogram returns an empty histogram that forgets observations older than two spans.
func NewHistogram(span time.Duration) *Histogram { panic("stub") }

// Observe counts one latency at time now.
func (h *Histogram) Observe(now, latency time.Duration) { panic("stub") }

// Percentiles fills dst[i] with the qs[i]-quantile (0 ≤ q ≤ 1) of the observations of the last span up
// to two, and returns how many there are; with none every dst[i] is 0.
func (h *Histogram) Percentiles(now time.Duration, qs []float64, dst []time.Duration) (count int64) {
	panic("stub")
}
