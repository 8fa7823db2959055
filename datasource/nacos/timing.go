package nacos

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// within returns a context that ends after d, by a clock, with a timeoutError as its cause; and a function that ends it at once.
func within(ctx context.Context, c clock.Clock, d time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := c.AfterFunc(d, func() { cancel(&timeoutError{d.String()}) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// jitter draws from the part of ±20% around d, so that many clients that began together do not stay so.
func jitter(d time.Duration) time.Duration {
	fifth := d / 5
	return d - fifth + rand.N(2*fifth+1)
}

// doubled returns the n-th of pauses that begin with least and double up to most, jittered.
func doubled(n int, least, most time.Duration) time.Duration {
	pause := least
	for range n {
		if pause *= 2; pause >= most {
			return jitter(most)
		}
	}
	return jitter(pause)
}
