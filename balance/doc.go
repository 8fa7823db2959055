// Package balance chooses the instance to call: of those that isolation has in service, the ones of the caller's own region first, and of those
// one by a strategy. Whoever is out of service is left out before the choice, so that a sick instance's share goes to all others alike
// and not to its neighbour.
//
//	b, err := balance.New(group, balance.Options{Region: "eu-1", Strategy: balance.LeastInFlight})
//	call, err := b.Pick(now, balance.Request{})
//	... call call.Address() ...
//	call.End(later, isolation.Success)
package balance
