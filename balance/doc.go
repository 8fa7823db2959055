// Package balance chooses the instance to call: of those that isolation has in service, the ones of the caller's own region first, and of those
// one by a strategy. Whoever is out of service is left out before the choice, so that a sick instance's share goes to all others alike
// and not to its neighbour.
//
//	b, err := balance.New(group, balance.Options{Region: "eu-1", Strategy: balance.LeastInFlight})
//	call, err := b.Pick(now, balance.Request{})
//	... call call.Address() ...
//	call.End(later, isolation.Success)
//
// A choice takes the same few steps whatever the number of instances, takes no lock and allocates nothing. When the group's view changes, the
// next choice prepares it for those that follow, in time linear in the instances; that keeps 16 to 24 bytes of an instance, with ConsistentHash
// 150, and twice that while some are probed. Only when all that a strategy offers refuse the call are instances looked at one by one: a call
// is never refused as long as any takes it.
//
// # Regions
//
// All calls stay in the own region while Rule.RegionMin of it, by weight, is in service. With less it keeps a part in proportion, and the other
// regions get the rest by their weights (with Rule.RegionSwitch: all); it gets all again when Rule.RegionBack more is in service.
//
// A region that fails as a whole is left too, though none of its instances does worse than its peers: regions are compared like instances, by a group of
// their own. As soon as a fifth of the own region's calls fails, a few explore the others, and if these serve distinctly better, the own region
// is quarantined, probed by single calls, and taken up slowly, as an instance is (Options.OnRegion says so). When all regions fail alike none is left.
package balance
