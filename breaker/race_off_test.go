//go:build !race

package breaker_test

// raceEnabled tells that allocations and sizes are not the program's own.
const raceEnabled = false
