package sentinel

import "fmt"

// Option adjusts how documents are read.
type Option interface{ apply(*config) }

type config struct {
	dialect    Dialect
	coldFactor float64
}

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

func newConfig(opts []Option) config {
	var c config
	for _, o := range opts {
		o.apply(&c)
	}
	return c
}

// WithDialect says whose form the documents have, instead of telling it by the keys of each rule; default Auto. Keys of the other dialect
// are then unknown keys, and Go is read without the laxness of Java's parser. A document with objects of Kubernetes is told by these in any case, unless Java or Go is said. It panics on a dialect that does not exist.
func WithDialect(d Dialect) Option {
	if d > CRD {
		panic(fmt.Sprintf("sentinel: no dialect %d", uint8(d)))
	}
	return optionFunc(func(c *config) { c.dialect = d })
}

// WithColdFactor sets the cold factor of Java's warm-up rules, above 1 up to 100; default 3. Java has it not in its rules but in the property
// csp.sentinel.flow.cold.factor of the process. It panics on a factor out of range.
func WithColdFactor(f float64) Option {
	if !(f > 1 && f <= 100) {
		panic(fmt.Sprintf("sentinel: cold factor %v; want above 1 up to 100", f))
	}
	return optionFunc(func(c *config) { c.coldFactor = f })
}
