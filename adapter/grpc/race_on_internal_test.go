//go:build race

package cordongrpc

const raceDetector = true
