package system

import (
	"errors"
	"fmt"
)

// ErrOverloaded is the error of a call that was refused to protect the process.
var ErrOverloaded = errors.New("process overloaded")

var (
	errLoad         = fmt.Errorf("%w: load average of the machine", ErrOverloaded)
	errCPU          = fmt.Errorf("%w: share of the CPU", ErrOverloaded)
	errResponseTime = fmt.Errorf("%w: mean response time in seconds", ErrOverloaded)
	errConcurrency  = fmt.Errorf("%w: calls in flight", ErrOverloaded)
	errRate         = fmt.Errorf("%w: calls per second", ErrOverloaded)
)

// cause returns the error of a refusal by a rule on the metric.
func (m Metric) cause() error {
	switch m {
	case Load:
		return errLoad
	case CPU:
		return errCPU
	case ResponseTime:
		return errResponseTime
	case Concurrency:
		return errConcurrency
	}
	return errRate
}
