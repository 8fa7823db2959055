//go:build race

package system

// raceEnabled tells that allocations and sizes are not the program's own.
const raceEnabled = true
