package isolation

import "time"

// Config is what a Group is made with.
type Config struct {
	// Rule is the rule; nil: all instances are in service.
	Rule *Rule
	// Now is the reading of the clock at which the group is made.
	Now time.Duration
	// OnEvent is told of every decision, in order, with no lock held; it may call the group. May be nil.
	OnEvent func(Event)
	// OnClose is called once, by Close. May be nil.
	OnClose func()
	// Seed seeds the jitter; 0: a random one.
	Seed uint64
}

// Group is one caller's view of a service.
type Group struct{}

// NewGroup returns a group without instances. It fails if the rule has a fault (rule.Problems).
func NewGroup(service string, cfg Config) (*Group, error) { return nil, nil }

// Service returns the service's name.
func (g *Group) Service() string { return "" }

// SetRule changes the rule; nil: all instances are in service from now on, and quarantines are forgotten. With another rule, quarantines,
// strikes and what was counted go on. A rule with a fault is refused (rule.Problems) and the old one stays.
func (g *Group) SetRule(now time.Duration, r *Rule) error { return nil }

// Change says what an Update changed.
type Change struct {
	// Added, Removed and Changed (in weight, region or drained) count instances; Returned those of Added that were remembered.
	Added, Removed, Changed, Returned int
	// Ignored counts entries without address and further ones with the address of an earlier one.
	Ignored int
}

// Update replaces the list of instances by what the registry says now.
func (g *Group) Update(now time.Duration, list []Instance) Change { return Change{} }

// View returns who is in service now. It does what is due first.
func (g *Group) View(now time.Duration) *View { return nil }

// Tick does what is due: for hosts that want events in time though no call comes.
func (g *Group) Tick(now time.Duration) {}

// Member returns the instance of an address, or nil.
func (g *Group) Member(address string) *Member { return nil }

// Report counts a call to the instance of an address as Begin and End would, for hosts that do not begin calls here. It reports false if there is
// no such instance (any more), and the call is not counted.
func (g *Group) Report(now time.Duration, address string, o Outcome, latency time.Duration) bool { return false }

// Pin keeps an instance in service (in) or out of it by hand, for that long; 0: until Unpin.
func (g *Group) Pin(now time.Duration, address string, in bool, length time.Duration) error { return nil }

// Unpin ends a pin.
func (g *Group) Unpin(now time.Duration, address string) error { return nil }

// Checked tells the group that an active check of the instance succeeded just now. It ends the wait in quarantine once the rule's Base is over; the
// probes must succeed all the same. It reports whether it shortened the wait.
func (g *Group) Checked(now time.Duration, address string) bool { return false }

// Close frees what the group holds and calls Config.OnClose. Calls to its members may still end.
func (g *Group) Close() {}

// View is a group's instances that may be called, at one moment. It is immutable.
type View struct {
	// Candidates are the members that may be called, in the order of the list. Empty if there is none.
	Candidates []Candidate
	// Regions are the group's regions in the order they come up in the list.
	Regions []RegionShare
	// Instances is how many the list has that are not drained, and Out how many of them may not be called or only be probed.
	Instances, Out int
	// Fallback is true while isolation has switched itself off.
	Fallback bool
	// RegionMin, RegionBack and RegionSwitch are the rule's (or the defaults).
	RegionMin, RegionBack float64
	RegionSwitch          bool
}

// Err says why there are no candidates: ErrNoInstance or ErrAllOut; nil if there are.
func (v *View) Err() error { return nil }

// Candidate is one member of a View.
type Candidate struct {
	// Member is the instance; its Begin may still refuse the call.
	Member *Member
	// Weight is its share of the traffic relative to others': the instance's weight, smaller in a slow start. Above 0 and finite.
	Weight float64
	// Probe is true if calls to it are probes, of which there is one at a time: Begin refuses mostly, and another one is to be chosen.
	Probe bool
}

// RegionShare is how much of a region is in service, by weight.
type RegionShare struct {
	// Name is the region's, as instances have it.
	Name string
	// Listed is the weight of its instances that are not drained, and InService what of it may be called (without probes).
	Listed, InService float64
}

// Member is a live instance of a group.
type Member struct{}

// Address returns the instance's address.
func (m *Member) Address() string { return "" }

// Region returns the instance's region.
func (m *Member) Region() string { return "" }

// InFlight returns how many calls to it are under way.
func (m *Member) InFlight() int { return 0 }

// Begin begins a call to the instance. It reports false if the instance may not be called now: it is quarantined, or a probe is under way
// already. Then another one is to be chosen. (An instance that has left the list can still be called.)
func (m *Member) Begin(now time.Duration) (Call, bool) { return Call{}, false }

// Call is a call under way. It must end once: End is safe to call again on the same Call, but not on copies of it.
type Call struct{}

// End ends the call. now may be any reading that is not before the one at Begin.
func (c *Call) End(now time.Duration, o Outcome) {}

// Member returns the instance that is called.
func (c *Call) Member() *Member { return nil }

// Probe reports whether the call decides over the instance's return.
func (c *Call) Probe() bool { return false }

// Snapshot is a group at one moment.
type Snapshot struct {
	// Service is the group's.
	Service string `json:"service"`
	// RuleID is the id of the rule in force, "" if there is none.
	RuleID string `json:"rule,omitempty"`
	// Shadow is true if the rule only says what it would do.
	Shadow bool `json:"shadow,omitempty"`
	// Fallback is true while isolation has switched itself off, since FallbackSince.
	Fallback      bool          `json:"fallback,omitempty"`
	FallbackSince time.Duration `json:"fallbackSince,omitempty"`
	// Fallbacks and Quarantines count what there was since the group was made (in shadow: would have been).
	Fallbacks   int64 `json:"fallbacks"`
	Quarantines int64 `json:"quarantines"`
	// Out counts the instances out of service or probing, Held the sick ones that stay in.
	Out  int `json:"out"`
	Held int `json:"held"`
	// Remembered counts the addresses that left the list and keep their strikes.
	Remembered int `json:"remembered"`
	// Instances are in the order of the list.
	Instances []InstanceSnapshot `json:"instances"`
}

// InstanceSnapshot is one instance at one moment.
type InstanceSnapshot struct {
	// Address and Region are the instance's.
	Address string `json:"address"`
	Region  string `json:"region,omitempty"`
	// State is where it stands.
	State State `json:"state"`
	// Weight is what it has now, which in a slow start is part of its own.
	Weight float64 `json:"weight"`
	// Calls and Failures count results while it was in service, InFlight the calls under way.
	Calls    int64 `json:"calls"`
	Failures int64 `json:"failures"`
	InFlight int   `json:"inFlight"`
	// Latency is the mean of lately ended calls, an exponential average; 0 if there was none.
	Latency time.Duration `json:"latency"`
	// Strikes is how often it came back sick, less what good service took away; Quarantines how often it was put out.
	Strikes     float64 `json:"strikes"`
	Quarantines int64   `json:"quarantines"`
	// Left is how much of the quarantine, the pin or the slow start is left.
	Left time.Duration `json:"left,omitempty"`
	// Reason says in words why it stands there; "" in service.
	Reason string `json:"reason,omitempty"`
}

// Snapshot returns the group's state. It does what is due first.
func (g *Group) Snapshot(now time.Duration) Snapshot { return Snapshot{} }

// Why explains where an instance stands.
type Why struct {
	InstanceSnapshot
	// At and Until are the readings of the clock when the state began and when it will end; Until is 0 if that is not known.
	At    time.Duration `json:"at"`
	Until time.Duration `json:"until,omitempty"`
	// Verdict is the evidence of the last verdict on it; Criterion is "" if there was none.
	Verdict Evidence `json:"verdict"`
	// Now is the evidence of this moment: what stands against it since its failures began; Criterion is "" if nothing does.
	Now Evidence `json:"now"`
}

// Why explains where the instance of an address stands; false if there is none.
func (g *Group) Why(now time.Duration, address string) (Why, bool) { return Why{}, false }
