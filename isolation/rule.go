package isolation

import (
	"math"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// Rule says how sick instances of the services it matches are found, put out of service, and let in again. A zero field
// means its preset's value; the defaults named here are those of the preset "default". Rules are plain comparable values. A rule with
// nothing but a service is a good one.
//
// In words: an instance whose failure rate is at most MinGap/2 above its peers' (or whose odds of failing are at most √MinRatio times
// theirs) is never taken out; one that is MinGap above and has MinRatio times their odds is found.
type Rule struct {
	// ID identifies the rule. Default: derived from the service.
	ID string `rule:"id"`
	// Service says for which services the rule is, by their names. Required in a set of rules. A Group used alone needs none.
	Service rule.Match `rule:"service"`
	// Preset chooses the values of the fields left out: careful, default or quick. Default default.
	Preset Preset `rule:"preset"`

	// MinGap is how far above its peers' an instance's failure rate must be, .01 to .5; default .05.
	MinGap float64 `rule:"minGap"`
	// MinRatio is how many times its peers' the odds of an instance's failing must be, 1.5 to 10; default 3.
	MinRatio float64 `rule:"minRatio"`
	// Evidence is how sure a verdict must be, in nats, 8 to 20; default 14. One less means e times the false alarms. Added to it are the logarithm of the number of
	// instances (1.6 for five), and of how many times the calls per instance are RateRef if they are more: that sum is the bound that events name.
	Evidence float64 `rule:"evidence"`
	// RateRef is the number of calls per second and instance above which more evidence is asked for, since there are then more chances
	// for a false alarm, 1 to 1,000,000; default 20.
	RateRef float64 `rule:"rateRef"`
	// MinFailures is how many failures a verdict needs at least, 3 to 20; default 4.
	MinFailures int `rule:"minFailures"`
	// GrossRate is the failure rate that a second, quicker test looks for, .1 to 1; 1 switches it off; default .25.
	GrossRate float64 `rule:"grossRate"`
	// MaxWindowCalls and MaxWindowAge bound how far back a test looks, 1000 to 100,000 calls and 1m to 24h; defaults 8000 and 30m.
	MaxWindowCalls int           `rule:"maxWindowCalls"`
	MaxWindowAge   time.Duration `rule:"maxWindowAge"`
	// LevelCalls and LevelTime say how many calls of the service and how much time make the level that a lucky quiet
	// moment of the peers is measured against, 20 to 100,000 calls and 1s to 10m; defaults 200 and 10s.
	LevelCalls int           `rule:"levelCalls"`
	LevelTime  time.Duration `rule:"levelTime"`
	// FlightFactor is how many times the calls that were under way when a test began must have ended at the peers before it may decide:
	// they may tell of a fault common to all. Above 0 up to 4; default 2.
	FlightFactor float64 `rule:"flightFactor"`
	// LocalErrors is after how many local errors in a row (connection refused, say) an instance is sick without more evidence, if its peers
	// answer meanwhile; 2 to 1000. It holds under AbsoluteOnly too. Default: such errors are failures as all others; quick: 3.
	LocalErrors int `rule:"localErrors"`

	// MinSuccessRate is an absolute criterion besides: an instance with a smaller share of successes among the calls of the last Window is sick,
	// whatever its peers do, once there are MinCalls; above 0 below 1. Default: none.
	MinSuccessRate float64 `rule:"minSuccessRate"`
	// Window is MinSuccessRate's window, 1s to 1h; default 10s.
	Window time.Duration `rule:"window"`
	// MinCalls is how many calls of an instance MinSuccessRate needs within Window, 1 to 1,000,000; default 20.
	MinCalls int `rule:"minCalls"`
	// AbsoluteOnly switches the comparison of failure rates with the peers' off; MinSuccessRate must be given then. LocalErrors holds all the same.
	AbsoluteOnly bool `rule:"absoluteOnly"`

	// Base is how long the first quarantine lasts, 100ms to 1h; default 5s. Every strike doubles it.
	Base time.Duration `rule:"base"`
	// Max is how long a quarantine lasts at most, before Jitter varies it, Base to 24h; default 5m, or Base if that is more.
	Max time.Duration `rule:"max"`
	// Jitter varies every quarantine by up to this share up and down, above 0 up to .5; default .2.
	Jitter float64 `rule:"jitter"`
	// StrikeHalfLife is after how much good service half of the strikes are forgotten, 1s to 24h; default 5m.
	StrikeHalfLife time.Duration `rule:"strikeHalfLife"`
	// Remember is how long an instance that has left the service keeps its strikes, should it come back, 1s to 24h; default 10m.
	Remember time.Duration `rule:"remember"`
	// Probes is how many probes in a row must succeed after a quarantine, 1 to 100; default 3.
	Probes int `rule:"probes"`
	// ProbeEvery is the least time between two probes, 1ms to 1m; default 500ms.
	ProbeEvery time.Duration `rule:"probeEvery"`
	// ProbeLease is after what time a probe that never reported is given up and may be replaced, 100ms to 1h; default 30s.
	ProbeLease time.Duration `rule:"probeLease"`
	// PeersNoisy is the failure rate of the peers, since the quarantine began, at which one failed probe is forgiven, above 0 up to 1; default
	// .05. PeersFailing is the one at which failed probes bring no further strike, up to 1; default .5. PeersMinCalls is how many calls of the
	// peers that takes, 1 to 100,000; default 20.
	PeersNoisy    float64 `rule:"peersNoisy"`
	PeersFailing  float64 `rule:"peersFailing"`
	PeersMinCalls int     `rule:"peersMinCalls"`
	// SlowStart is how long an instance's share of the traffic takes to grow back, 1ms to 1h; default 15s.
	SlowStart time.Duration `rule:"slowStart"`
	// SlowStartFrom is the share of its weight that it begins with, .01 to 1; default .1.
	SlowStartFrom float64 `rule:"slowStartFrom"`
	// SlowStartNew makes instances that join the service start slowly too, those of its first list excepted. Default false.
	SlowStartNew bool `rule:"slowStartNew"`

	// MaxShare is which share of the instances may be out of service, rounded up, but never all; above 0 up to 1; default .5.
	MaxShare float64 `rule:"maxShare"`
	// MayEmpty lets the last instance be put out too, so that calls fail at once with ErrAllOut. It takes MaxShare 1 and NoFallback besides, or that hardly comes to pass. An
	// instance whose peers are all out is judged by itself: it goes when it distinctly fails more than PeersFailing. The only instance of a service goes by
	// MinSuccessRate only. Default false.
	MayEmpty bool `rule:"mayEmpty"`
	// FallbackAt is the share of sick instances above which isolation switches itself off and puts all back in service, since the fault then lies elsewhere, above 0 up to 1; default .7.
	// It does too when others are out and those in service fail FallbackRate of their calls over four times FallbackHold.
	FallbackAt float64 `rule:"fallbackAt"`
	// FallbackHold is how long that lasts at least, 1s to 1h; default 5s.
	FallbackHold time.Duration `rule:"fallbackHold"`
	// FallbackRate is the failure rate within FallbackHold that makes an instance count as failing while it lasts, above 0 up to 1; default .5. It ends when the
	// share of failing instances is at most FallbackAt.
	FallbackRate float64 `rule:"fallbackRate"`
	// NoFallback keeps isolation on however many are sick. Default false.
	NoFallback bool `rule:"noFallback"`

	// RegionMin is the share of its own region's instances, by weight, that must be in service for a caller to send all its calls there, above
	// 0 up to 1; default .7. With fewer, the region gets a proportionate part and the others the rest.
	RegionMin float64 `rule:"regionMin"`
	// RegionBack is by how much more than RegionMin must be in service before all calls go to the own region again, above 0 up to .5; default .1.
	RegionBack float64 `rule:"regionBack"`
	// RegionSwitch sends all calls to the other regions, instead of a part, when fewer are in service. Default false.
	RegionSwitch bool `rule:"regionSwitch"`

	// Shadow makes the rule say whom it would put out of service, and do nothing. When it leaves the shadow all are in service, and the strikes taken in it are
	// forgotten: first quarantines last Base. Default false.
	Shadow bool `rule:"shadow"`
}

// Meta returns what the rule has in common with rules of other kinds.
func (r Rule) Meta() rule.Meta { return rule.Meta{ID: r.ID, Resource: r.Service, Shadow: r.Shadow} }

// WithID returns a copy with another id.
func (r Rule) WithID(id string) Rule {
	r.ID = id
	return r
}

// Equal reports whether both are the same in every field, as written: a default left out differs from one spelled out.
func (r Rule) Equal(o Rule) bool { return r == o }

// WithDefaults returns the rule with every field left out set to its preset's value, except those that are off by default.
func (r Rule) WithDefaults() Rule {
	p := r.Preset.values()
	setDefault(&r.MinGap, p.MinGap)
	setDefault(&r.MinRatio, p.MinRatio)
	setDefault(&r.Evidence, p.Evidence)
	setDefault(&r.RateRef, p.RateRef)
	setDefault(&r.MinFailures, p.MinFailures)
	setDefault(&r.GrossRate, p.GrossRate)
	setDefault(&r.MaxWindowCalls, p.MaxWindowCalls)
	setDefault(&r.MaxWindowAge, p.MaxWindowAge)
	setDefault(&r.LevelCalls, p.LevelCalls)
	setDefault(&r.LevelTime, p.LevelTime)
	setDefault(&r.FlightFactor, p.FlightFactor)
	setDefault(&r.LocalErrors, p.LocalErrors)
	setDefault(&r.Window, p.Window)
	setDefault(&r.MinCalls, p.MinCalls)
	setDefault(&r.Base, p.Base)
	setDefault(&r.Max, max(p.Max, r.Base))
	setDefault(&r.Jitter, p.Jitter)
	setDefault(&r.StrikeHalfLife, p.StrikeHalfLife)
	setDefault(&r.Remember, p.Remember)
	setDefault(&r.Probes, p.Probes)
	setDefault(&r.ProbeEvery, p.ProbeEvery)
	setDefault(&r.ProbeLease, p.ProbeLease)
	setDefault(&r.PeersNoisy, p.PeersNoisy)
	setDefault(&r.PeersFailing, max(p.PeersFailing, r.PeersNoisy))
	setDefault(&r.PeersMinCalls, p.PeersMinCalls)
	setDefault(&r.SlowStart, p.SlowStart)
	setDefault(&r.SlowStartFrom, p.SlowStartFrom)
	setDefault(&r.MaxShare, p.MaxShare)
	setDefault(&r.FallbackAt, p.FallbackAt)
	setDefault(&r.FallbackHold, p.FallbackHold)
	setDefault(&r.FallbackRate, p.FallbackRate)
	setDefault(&r.RegionMin, p.RegionMin)
	setDefault(&r.RegionBack, p.RegionBack)
	return r
}

func setDefault[T int | float64 | time.Duration](field *T, def T) {
	if *field == 0 {
		*field = def
	}
}

// maxOut returns how many of n instances may be out of service.
func (r *Rule) maxOut(n int) int {
	out := max(int(math.Ceil(r.MaxShare*float64(n)-1e-9)), 1)
	if r.MayEmpty && r.judges(n) {
		return min(out, n)
	}
	return max(min(out, n-1), 0)
}

// judges reports whether one of n instances can be sick: a single one has no peers, and may go only by its own measure.
func (r *Rule) judges(n int) bool { return n > 1 || n == 1 && r.MayEmpty && r.MinSuccessRate > 0 }
