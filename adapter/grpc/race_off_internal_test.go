//go:build !race

package cordongrpc

const raceDetector = false
