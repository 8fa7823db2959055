package sim

// Run plays the scenario and returns what came of it. The policy is for clients that have none of their own; it may be nil if all have. The
// error says all that is wrong with the scenario, or why a session or a guard could not be made of its rules. Run keeps
// nothing when it returns, and any number may run concurrently.
func Run(s Scenario, p Policy) (*Result, error) {
	normal, err := s.normal()
	if err != nil {
		return nil, err
	}
	w, err := newWorld(&normal, p)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.play(); err != nil {
		return nil, err
	}
	w.tick()
	w.book.complete(w.now, w.callers)
	r := w.book.close(w.callers)
	if p != nil {
		r.Policy = p.String()
	}
	return r, nil
}
