// Package worlds has the worlds that isolation is measured in: scenarios with one illness or one disturbance each, of which it is known who should be
// taken out and who must not. docs/isolation.md tells what comes of them; whoever has other rules, or other means, runs them here
// (Run of package sim takes any policy).
//
// The physics is the simplest there is, so that figures can be compared: one client, calls at random (a Poisson process), a result that is known at
// once, errors independent at the rate of the moment, no retries. What lies beyond that is in the worlds of the kind Beyond.
package worlds
