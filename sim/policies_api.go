package sim

// Label or "cordon".
func (c Cordon) String() string { return "cordon" }

// String returns "none".
func (None) String() string { return "none" }

// String returns "consecutive".
func (Consecutive) String() string { return "consecutive" }

// String returns "Envoy".
func (Envoy) String() string { return "Envoy" }

// String returns "A50".
func (A50) String() string { return "A50" }

// String returns "Finagle".
func (Finagle) String() string { return "Finagle" }

// Open is Policy's.
func (c Cordon) Open(Environment) (Session, error) { return nil, nil }

// Open is Policy's.
func (None) Open(Environment) (Session, error) { return nil, nil }

// Open is Policy's.
func (Consecutive) Open(Environment) (Session, error) { return nil, nil }

// Open is Policy's.
func (Envoy) Open(Environment) (Session, error) { return nil, nil }

// Open is Policy's.
func (A50) Open(Environment) (Session, error) { return nil, nil }

// Open is Policy's.
func (Finagle) Open(Environment) (Session, error) { return nil, nil }
