//go:build !race

package cordongrpc_test

const raceEnabled = false
