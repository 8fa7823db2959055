//go:build race

package cordon

const raceEnabled = true
