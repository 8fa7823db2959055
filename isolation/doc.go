// Package isolation takes sick instances of a service out of service by their success rate, and lets them in again gently.
//
// A Group is one caller's view of a service: its instances, as a registry lists them, and what calls to them came to. An instance whose calls fail
// distinctly more often than its peers' calls of the same time is put in quarantine; each time it comes back sick its quarantine doubles, up
// to a limit; when a quarantine is over, single calls probe the instance, and if they succeed its share of the traffic grows back slowly. At most half of
// the instances (by default) are out at one time, and never all. When nearly all are sick, the fault lies elsewhere: then isolation
// switches itself off, all are in service, and it says so.
//
//	group, err := isolation.NewGroup("orders", isolation.Config{Rule: &isolation.Rule{}})
//	group.Update(now, []isolation.Instance{{Address: "10.0.0.1:80"}, {Address: "10.0.0.2:80"}})
//	view := group.View(now)            // who is in service, with what weight
//	call, ok := view.Candidates[i].Member.Begin(now)
//	... call the instance ...
//	call.End(later, isolation.Success)
//
// Package balance chooses the candidate: own region first, then by a strategy.
//
// A Group reads no clock and starts no goroutine: what is due is done by the next View, Tick or Snapshot. Times are
// readings of one clock; all of a Group's methods may be called concurrently, with times that are a little out of order. Begin and the End of a
// successful call take a few atomic operations, no lock, and allocate nothing, however many instances there are.
//
// How the verdict is found: a likelihood ratio compares the instance's failures with its peers', counted over the same time from the moment on at which
// they began to differ. Comparing with peers of the same time is what makes it safe: when a dependency that all share fails, all their rates rise, and
// nobody is an outlier. See docs/isolation.md for figures.
package isolation
