//go:build race

package isolation

// raceEnabled is whether the race detector is on: it allocates, and it is slow.
const raceEnabled = true
