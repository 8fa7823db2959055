//go:build race

package worlds_test

// raceEnabled tells that everything takes ten times as long.
const raceEnabled = true
