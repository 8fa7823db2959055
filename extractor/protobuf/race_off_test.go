//go:build !race

package protobuf_test

// raceEnabled is whether the race detector is on: it allocates, and it is slow.
const raceEnabled = false
