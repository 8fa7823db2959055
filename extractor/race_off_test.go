//go:build !race

package extractor_test

// raceEnabled is whether the race detector is on: it allocates, and it is slow.
const raceEnabled = false
