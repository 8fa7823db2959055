//go:build race

package rule

// raceEnabled tells that the race detector runs: it allocates.
const raceEnabled = true
