//go:build race

package apigroup

// raceEnabled tells tests that count allocations or take long whether the race detector is on.
const raceEnabled = true
