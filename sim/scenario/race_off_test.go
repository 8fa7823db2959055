//go:build !race

package scenario

// raceEnabled tells that everything takes ten times as long.
const raceEnabled = false
