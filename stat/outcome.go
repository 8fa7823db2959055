package stat

// Outcome says how an admitted call ended.
type Outcome uint8

const (
	// Success is a call that the callee answered.
	Success Outcome = iota
	// Failure is a call that the callee failed: an error, a time-out, a panic.
	Failure
	// Ignored is a call that says nothing about the callee: the caller gave up, or the
	// refusal was our own.
	Ignored
)

// String returns "success", "failure" or "ignored".
func (o Outcome) String() string {
	switch o {
	case Success:
		return "success"
	case Failure:
		return "failure"
	case Ignored:
		return "ignored"
	}
	return "unknown"
}
