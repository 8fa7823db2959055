package worlds_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

// scenario makes one of n instances with a base rate of failures, and calls per second.
func scenario(n int, base, rate float64, length time.Duration) sim.Scenario {
	return sim.Scenario{
		Length: length, Grace: 5 * time.Second, Instances: sim.Instances(n, sim.Instance{Base: sim.Fails(base)}),
		Clients: []sim.Client{{Loads: []sim.Load{{Rate: rate}}}},
	}
}

// shocks is a dependency of all that fails now and then, heavily, for a moment.
func shocks() sim.Script {
	return sim.Shocks{Every: 20 * time.Second, Shortest: 200 * time.Millisecond, Longest: 2 * time.Second, Min: .3, Max: 1}
}

// over runs a scenario over seeds.
func over(t *testing.T, s sim.Scenario, p sim.Policy, seeds int) []*sim.Result {
	t.Helper()
	results := make([]*sim.Result, theTier().pick(seeds))
	for i := range results {
		s.Seed = firstSeed + uint64(i)
		r, err := sim.Run(s, p)
		require.NoError(t, err)
		require.Zero(t, r.Totals.NoInstance, "seed %d", s.Seed)
		results[i] = r
	}
	return results
}

func fallbacks(r *sim.Result) (n int) {
	for i := range r.Clients {
		n += r.Clients[i].Fallbacks
	}
	return n
}

// An instance that is ten or a hundred times as slow as its peers tells later than they of a moment that was bad for all. That is no reason to put it out, nor are its peers to be put out
// for having told first.
func TestTheSlowTellLater(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 5} {
		for _, slow := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
			t.Run(fmt.Sprintf("%d, %v", n, slow), func(t *testing.T) {
				t.Parallel()
				s := scenario(n, .005, 100, theTier().length)
				for i := range s.Instances {
					s.Instances[i].Base.Latency = sim.Fixed(50 * time.Millisecond)
				}
				s.Instances[0].Base.Latency = sim.LogNormal{Median: slow, P99: 2 * slow}
				s.Common = []sim.Script{shocks()}
				falseOnes := 0
				for _, r := range over(t, s, sim.Cordon{}, 3) {
					falseOnes += len(r.False)
				}
				require.LessOrEqual(t, falseOnes, 1)
			})
		}
	}
}

// While the own region gets all calls the other ones are only tried at bad moments. What they do then is held against neither them nor their instances.
func TestOtherRegionsAreTriedAtBadMoments(t *testing.T) {
	t.Parallel()
	for _, size := range []int{2, 3} { // of a region: with two its instances have all as peers
		for _, latency := range []sim.Latency{nil, sim.LogNormal{Median: 50 * time.Millisecond, P99: 500 * time.Millisecond}} {
			t.Run(fmt.Sprintf("%d, %v", size, latency), func(t *testing.T) {
				t.Parallel()
				s := scenario(3*size, .005, 200, theTier().length)
				for i := range s.Instances {
					s.Instances[i].Region = string(rune('a' + i/size))
					s.Instances[i].Base.Latency = latency
				}
				s.Clients[0].Region = "a"
				s.Common = []sim.Script{shocks()}
				for _, r := range over(t, s, sim.Cordon{}, 5) {
					require.Empty(t, r.False, "seed %d", r.Scenario.Seed)
				}
			})
		}
	}
}

// Sick ones that stayed in service, as too many were out, are not put out when they are well again.
func TestWhoWasHeldIsWellWhenItIsWell(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{100, 1000} {
		s := scenario(5, .001, rate, 15*time.Minute)
		for i := range 4 {
			s.Instances[i].Ill = []sim.Script{sim.Between(time.Minute, 5*time.Minute, sim.Dead())}
		}
		for _, r := range over(t, s, sim.Cordon{Rule: &isolation.Rule{NoFallback: true}}, 11) {
			require.Empty(t, r.False, "seed %d", r.Scenario.Seed)
			last := r.Series[len(r.Series)-1]
			for i, in := range last.Instances {
				require.Zero(t, in.Out, "seed %d: instance %d", r.Scenario.Seed, i)
			}
		}
	}
}

// A service whose instances restart one after the other, each 10 s dead, loses only those that do, and no fallback puts the dead ones back.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    int
		rate float64
	}{{3, 100}, {5, 100}, {20, 400}} {
		for _, gap := range []time.Duration{10 * time.Second, 15 * time.Second, 30 * time.Second} {
			s := scenario(c.n, .001, c.rate, time.Minute+time.Duration(c.n)*gap+90*time.Second)
			for i := range s.Instances {
				s.Instances[i].Ill = []sim.Script{sim.Restart{At: time.Minute + time.Duration(i)*gap, Down: 10 * time.Second}}
			}
			for _, r := range over(t, s, sim.Cordon{}, 3) {
				require.Empty(t, r.False, "%d, %v, seed %d", c.n, gap, r.Scenario.Seed)
				require.Zero(t, fallbacks(r), "%d, %v, seed %d", c.n, gap, r.Scenario.Seed)
				for _, il := range r.Illnesses {
					require.True(t, il.Found[0].Found && il.Found[0].After < 3*time.Second, "%+v", il)
				}
				for _, a := range r.Absences {
					require.Less(t, a.Until-a.From, time.Minute, "%d, %v, seed %d: %+v", c.n, gap, r.Scenario.Seed, a)
				}
			}
		}
	}
}

// A list that changes each second, through an outage of all, makes nobody sick, and the one that is stays out however often the registry lists it anew.
func TestChurn(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	s := scenario(8, .001, 100, 12*minute)
	for at, i := minute, 1; at < 11*minute; at, i = at+time.Second, i%7+1 {
		s.Instances[i].Absent = append(s.Instances[i].Absent, sim.Span{From: at, Until: at + time.Second})
	}
	for at := 3 * minute; at < 11*minute; at += 30 * time.Second {
		s.Instances[0].Absent = append(s.Instances[0].Absent, sim.Span{From: at, Until: at + 2*time.Second})
	}
	s.Instances[0].Ill = []sim.Script{sim.From(2*minute, sim.Dead())}
	s.Common = []sim.Script{sim.Between(5*minute, 6*minute, sim.Dead())}
	for _, r := range over(t, s, sim.Cordon{}, 5) {
		require.Empty(t, r.False, "seed %d", r.Scenario.Seed)
		for _, e := range r.Events {
			if e.Kind == isolation.EventFallbackOn {
				require.True(t, e.At > 5*minute && e.At < 6*minute, "seed %d: %v", r.Scenario.Seed, e.At)
			}
		}
		find := r.Illnesses[0].Found[0]
		require.True(t, find.Found && find.Tries <= 18, "seed %d: %+v", r.Scenario.Seed, find)
		tries := int64(0)
		for _, row := range r.Series {
			if row.From > 7*minute {
				tries += int64(row.Instances[0].Tries)
			}
		}
		require.LessOrEqual(t, tries, int64(10), "seed %d: of 3750 that would be its share", r.Scenario.Seed)
	}
}

// A process that was suspended for an hour goes on with what it knows: who is sick is out again after its probes, and calls that were under way say nothing false.
func TestSuspended(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for _, at := range []time.Duration{5*minute + 200*time.Millisecond, 5*minute + 3*time.Second, 5*minute + 20*time.Second, 8 * minute} {
		s := scenario(5, .001, 100, 12*minute)
		for i := range s.Instances {
			s.Instances[i].Base.Latency = sim.Uniform{Min: 10 * time.Millisecond, Max: 100 * time.Millisecond}
		}
		s.Instances[0].Ill = []sim.Script{sim.From(5*minute, sim.Dead())}
		s.Common = []sim.Script{sim.Between(8*minute-500*time.Millisecond, 8*minute+500*time.Millisecond, sim.Fails(1))}
		for _, r := range over(t, s, suspended{at: at, by: time.Hour}, 3) {
			require.Empty(t, r.False, "%v, seed %d", at, r.Scenario.Seed)
			require.LessOrEqual(t, r.Instances[0].Tries-5*60*20, int64(400), "%v, seed %d", at, r.Scenario.Seed)
		}
	}
}

// suspended is cordon in a process whose clock jumps.
type suspended struct {
	sim.Cordon
	at, by time.Duration
}

func (p suspended) Open(e sim.Environment) (sim.Session, error) {
	s, err := p.Cordon.Open(e)
	return &suspendedSession{s, p}, err
}

type suspendedSession struct {
	sim.Session
	by suspended
}

func (s *suspendedSession) read(now time.Duration) time.Duration {
	if now >= s.by.at {
		now += s.by.by
	}
	return now
}

func (s *suspendedSession) Update(now time.Duration, list []sim.Listed) {
	s.Session.Update(s.read(now), list)
}

func (s *suspendedSession) Pick(now time.Duration, try sim.Try) (sim.Choice, bool) {
	return s.Session.Pick(s.read(now), try)
}

func (s *suspendedSession) Done(now time.Duration, c sim.Choice, o isolation.Outcome, latency time.Duration) {
	s.Session.Done(s.read(now), c, o, latency)
}

func (s *suspendedSession) Tick(now time.Duration) { s.Session.Tick(s.read(now)) }

func (s *suspendedSession) Weights(now time.Duration, weights []float64) {
	s.Session.Weights(s.read(now), weights)
}

// Weights that differ a thousand times change nothing in who is found: a heavy one that gets nearly all calls, and a canary that gets one in a thousand.
func TestHeavyAndLight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n      int
		weight float64 // of the first
		rate   float64
		found  time.Duration
		tries  int64
	}{{5, 100, 100, 2 * time.Second, 190}, {2, 100, 100, 7 * time.Second, 700}, {6, .005, 1000, 20 * time.Second, 18}} {
		s := scenario(c.n, .001, c.rate, 10*time.Minute)
		s.Instances[0].Weight = c.weight
		s.Instances[0].Ill = []sim.Script{sim.From(5*time.Minute, sim.Dead())}
		s.Common = []sim.Script{sim.Between(time.Minute, time.Minute+2*time.Second, sim.Fails(.8))}
		for _, r := range over(t, s, sim.Cordon{}, 5) {
			require.Empty(t, r.False, "%+v, seed %d", c, r.Scenario.Seed)
			find := r.Illnesses[0].Found[0]
			require.True(t, find.Found && find.After <= c.found && find.Tries <= c.tries, "%+v, seed %d: %+v", c, r.Scenario.Seed, find)
		}
	}
}

// From 10,000 calls a second to one, from one to 10,000 just when all begin to fail, and pauses of ten minutes in which one dies: nobody is put out for what others did at another time.
func TestLoadsThatChange(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	falls := scenario(5, .01, 10_000, 12*minute)
	falls.Clients[0].Loads[0].Changes = []sim.RateChange{{At: 5 * time.Second, Rate: 1}}
	falls.Instances[0].Ill = []sim.Script{sim.From(5*time.Second, sim.Dead())}
	rises := scenario(5, .01, 1, 10*minute+15*time.Second)
	rises.Clients[0].Loads[0].Changes = []sim.RateChange{{At: 10 * minute, Rate: 10_000}}
	rises.Common = []sim.Script{sim.Between(10*minute, 10*minute+5*time.Second, sim.Fails(.3))}
	pauses := scenario(5, .001, 100, 40*minute)
	pauses.Clients[0].Loads[0].Changes = []sim.RateChange{{At: 5 * minute, Rate: 0}, {At: 15 * minute, Rate: 100}, {At: 20 * minute, Rate: 0}, {At: 30 * minute, Rate: 100}}
	pauses.Instances[0].Ill = []sim.Script{sim.Between(10*minute, 25*minute, sim.Dead())}
	pauses.Common = []sim.Script{shocks()}
	for name, s := range map[string]sim.Scenario{"falls": falls, "rises": rises, "pauses": pauses} {
		for _, r := range over(t, s, sim.Cordon{}, 3) {
			require.Empty(t, r.False, "%s, seed %d", name, r.Scenario.Seed)
			for _, il := range r.Illnesses {
				require.True(t, il.Found[0].Found && il.Found[0].Tries <= 18, "%s, seed %d: %+v", name, r.Scenario.Seed, il)
			}
		}
	}
}

// All instances are replaced at once while fallback is on: the new ones are watched from the beginning, and the fallback does not outlive the old ones for long.
func TestReplacedDuringFallback(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	s := scenario(10, .001, 100, 12*minute)
	for i := range 5 {
		s.Instances[i].Absent = []sim.Span{{From: 6 * minute}}
		s.Instances[5+i].Absent = []sim.Span{{From: 0, Until: 6 * minute}}
	}
	for i := range 4 {
		s.Instances[i].Ill = []sim.Script{sim.From(3*minute, sim.Dead())}
	}
	s.Instances[9].Ill = []sim.Script{sim.From(6*minute+20*time.Second, sim.Dead())}
	for _, r := range over(t, s, sim.Cordon{}, 5) {
		require.Equal(t, 1, fallbacks(r), "seed %d", r.Scenario.Seed)
		require.Empty(t, r.False, "seed %d", r.Scenario.Seed)
		find := r.Illnesses[len(r.Illnesses)-1]
		require.Equal(t, 9, find.Instance)
		require.True(t, find.Found[0].Found && find.Found[0].Tries <= 18, "seed %d: %+v", r.Scenario.Seed, find)
	}
}

// Four of five are sick for long, and isolation gives up; when they get well it is back to normal at once, and does not go to and fro meanwhile.
func TestLongFallback(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for _, n := range []int{5, 10} {
		s := scenario(n, .001, 100, 30*minute)
		for i := range n * 4 / 5 {
			s.Instances[i].Ill = []sim.Script{sim.Between(minute, 21*minute, sim.Dead())}
		}
		for _, r := range over(t, s, sim.Cordon{}, 5) {
			require.Equal(t, 1, fallbacks(r), "seed %d", r.Scenario.Seed)
			off := time.Duration(0)
			for _, e := range r.Events {
				if e.Kind == isolation.EventFallbackOff {
					off = e.At
				}
			}
			require.Greater(t, off, 21*minute, "seed %d", r.Scenario.Seed)
			require.Less(t, off, 21*minute+15*time.Second, "seed %d", r.Scenario.Seed)
			require.Empty(t, r.False, "seed %d", r.Scenario.Seed)
			for _, a := range r.Absences {
				require.Less(t, a.Until, 21*minute, "seed %d: who was out before the fallback is back with it: %+v", r.Scenario.Seed, a)
			}
		}
	}
}

// Calls that are tried again find the sick as they should: nobody is taken for sick because of the load that retries make, and hardly a call fails for good.
func TestRetries(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for _, n := range []int{2, 3, 5} {
		for _, c := range []sim.Condition{sim.Dead(), sim.Fails(.2)} {
			s := scenario(n, .001, 40, 10*minute)
			s.Clients[0].Retry = sim.Retry{Max: 3}
			s.Instances[0].Ill = []sim.Script{sim.Between(minute, 4*minute, c)}
			s.Common = []sim.Script{sim.Between(6*minute, 7*minute, sim.Dead())}
			for _, r := range over(t, s, sim.Cordon{}, 3) {
				require.Empty(t, r.False, "%d, seed %d", n, r.Scenario.Seed)
				require.True(t, r.Illnesses[0].Found[0].Found)
				failed := int64(0)
				for _, row := range r.Series {
					if row.From < 5*minute+30*time.Second {
						failed += row.Counts.Failed
					}
				}
				require.LessOrEqual(t, failed, int64(2), "%d, %+v, seed %d", n, c, r.Scenario.Seed)
			}
		}
	}
}
