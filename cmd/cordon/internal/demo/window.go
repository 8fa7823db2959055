package demo

import (
	"slices"
	"time"
)

// newest is how many times books keep at least: more than a chapter makes, and few enough for a demo that is kept running for days.
const newest = 1 << 14

// note adds a time to a book, and drops the oldest half of it when it is twice as long as it needs to be.
func note(book []time.Duration, t time.Duration) []time.Duration {
	if len(book) >= 2*newest {
		book = slices.Clone(book[len(book)-newest:])
	}
	return append(book, t)
}

// worst returns the most times that lie in any half-open interval [t, t+per), and the start of the first such
// interval. times must be sorted.
func worst(times []time.Duration, per time.Duration) (n int, at time.Duration) {
	first := 0
	for i, t := range times {
		for times[first]+per <= t {
			first++
		}
		if i-first+1 > n {
			n, at = i-first+1, times[first]
		}
	}
	return n, at
}

// between returns the sorted times that lie in [from, to).
func between(times []time.Duration, from, to time.Duration) []time.Duration {
	i, _ := slices.BinarySearch(times, from)
	j, _ := slices.BinarySearch(times, to)
	return times[i:max(i, j)]
}

// transit returns the shortest and the longest time from a departure to its arrival, for two sorted lists of the same length. The k-th arrival is
// taken for the k-th departure: no other pairing makes the difference of the two smaller, and counting needs no more.
// (If every arrival is at least least and at most most after its departure, then what arrives within w has departed within w + most − least.)
func transit(departures, arrivals []time.Duration) (least, most time.Duration) {
	for i := range departures {
		d := arrivals[i] - departures[i]
		if i == 0 {
			least, most = d, d
		}
		least, most = min(least, d), max(most, d)
	}
	return least, most
}
