//go:build !race

package flow

// raceEnabled tells that allocations and sizes are not the program's own.
const raceEnabled = false
