package worlds

import (
	"time"

	"github.com/cordon-go/cordon/sim"
)

// world makes a scenario of the simple physics: n instances that fail at a base rate, calls per second in all, for an hour.
func world(k Kind, name, about string, n int, base, rate float64, change func(*sim.Scenario)) World {
	s := sim.Scenario{
		Name:      name,
		Length:    time.Hour,
		Instances: sim.Instances(n, sim.Instance{Base: sim.Fails(base)}),
		Clients:   []sim.Client{{Loads: []sim.Load{{Rate: rate}}}},
	}
	if change != nil {
		change(&s)
	}
	return World{Name: name, About: about, Kind: k, Shows: shows(k, name), Scenario: s}
}

// shows returns the figure that a world is about.
func shows(k Kind, name string) Figure {
	switch {
	case name == "S4":
		return SickShare
	case name == "S8" || k == Return:
		return Full
	case k == Go:
		return Found
	case k == Stay:
		return False
	}
	return Failed
}

// ill gives the first n instances an illness.
func ill(n int, script sim.Script) func(*sim.Scenario) {
	return func(s *sim.Scenario) {
		for i := range n {
			s.Instances[i].Ill = append(s.Instances[i].Ill, script)
		}
	}
}

// all gives everyone a script.
func all(script sim.Script) func(*sim.Scenario) {
	return func(s *sim.Scenario) { s.Common = append(s.Common, script) }
}

// both makes two changes.
func both(a, b func(*sim.Scenario)) func(*sim.Scenario) {
	return func(s *sim.Scenario) {
		a(s)
		b(s)
	}
}

// dead is an instance that is dead from the beginning; more is one that fails so much more than the others.
func dead() sim.Script               { return sim.Always(sim.Dead()) }
func more(points float64) sim.Script { return sim.Always(sim.Fails(points)) }

// noise is a dependency whose failures go up and down: 0 to 30 %.
func noise(every time.Duration) sim.Script { return sim.Noisy{Min: 0, Max: .3, Every: every} }

// shocks is a dependency that fails now and then, heavily, for a moment.
func shocks() sim.Script {
	return sim.Shocks{Every: 20 * time.Second, Shortest: 200 * time.Millisecond, Longest: 2 * time.Second, Min: .3, Max: 1}
}

// sickOnes are the worlds whose sick instances must go. They are sick from the beginning unless something else is said.
func sickOnes() []World {
	const minutes = time.Minute
	return []World{
		world(Go, "S1", "1 of 5 dead, the rest .1 %, 100/s", 5, .001, 100, ill(1, dead())),
		world(Go, "S2", "1 of 5 fails 50 %, 100/s", 5, .001, 100, ill(1, more(.499))),
		world(Go, "S3", "2 of 5 dead, 100/s", 5, .001, 100, ill(2, dead())),
		world(Go, "S3b", "2 of 5 dead, 70/s", 5, .001, 70, ill(2, dead())),
		world(Go, "S3c", "2 of 5 dead, 40/s", 5, .001, 40, ill(2, dead())),
		world(Go, "S4", "1 of 5 flaps: 20 s dead, 40 s well, 100/s", 5, .001, 100,
			ill(1, sim.Flapping{Bad: 20 * time.Second, Good: 40 * time.Second, Condition: sim.Dead()})),
		world(Go, "S7", "1 of 5 dead, the rest 1 %, 2/s", 5, .01, 2, ill(1, dead())),
		world(Go, "S8", "1 of 5 dead for 60 s, then well, 100/s", 5, .001, 100, ill(1, sim.Between(0, minutes, sim.Dead()))),
		world(Go, "N2", "1 of 5 fails 5 %, the rest .1 %, 100/s", 5, .001, 100, ill(1, more(.049))),
		world(Go, "N2f", "1 of 5 fails 5 %, the rest .1 %, 500/s", 5, .001, 500, ill(1, more(.049))),
		world(Go, "N2t", "1 of 5 fails 15 %, the rest .1 %, 100/s", 5, .001, 100, ill(1, more(.149))),
		world(Go, "N3s", "all 0 to 30 %, anew every 3 s or so; 1 of 5 fails 25 points more, 100/s", 5, 0, 100, both(all(noise(3*time.Second)), ill(1, more(.25)))),
		world(Go, "N6", "1 of 2 dead, 20/s", 2, .001, 20, ill(1, dead())),
		world(Go, "N6b", "1 of 2 fails 15 %, 40/s", 2, .001, 40, ill(1, more(.149))),
		world(Go, "M1", "1 of 5 fails 2.6 % for 10 min, then is dead, 100/s", 5, .001, 100, both(worse(.026), ill(1, sim.From(10*minutes, sim.Dead())))),
		world(Go, "M2", "1 of 5 fails 2.6 % for 10 min, then 15 %, 100/s", 5, .001, 100, both(worse(.026), ill(1, sim.From(10*minutes, sim.Fails(.124))))),
		world(Go, "M4", "1 of 5 fails .1 % for 10 min as the rest, then 15 %, 100/s", 5, .001, 100, ill(1, sim.From(10*minutes, sim.Fails(.149)))),
		world(Go, "N5e", "1 of 1000 dead, the rest 1 %, 1/s each", 1000, .01, 1000, ill(1, dead())),
		world(Go, "N5f", "1 of 1000 fails 15 %, the rest 1 %, 1/s each", 1000, .01, 1000, ill(1, more(.14))),
		world(Go, "N5g", "10 of 100 dead, the rest 1 %, 1/s each", 100, .01, 100, ill(10, dead())),
	}
}

// worse makes the first instance worse than the others without making it sick.
func worse(base float64) func(*sim.Scenario) {
	return func(s *sim.Scenario) { s.Instances[0].Base = sim.Fails(base) }
}

// wellOnes are the worlds in which all must stay.
func wellOnes() []World {
	outage := func(c sim.Condition) func(*sim.Scenario) { return all(sim.Between(time.Minute, 6*time.Minute, c)) }
	spread := func(s *sim.Scenario) {
		for i := range s.Instances {
			s.Instances[i].Base = sim.Fails(.01 + .02*float64(i)/float64(len(s.Instances)-1))
		}
	}
	return []World{
		world(Stay, "S5", "all 5 dead for 5 min, 100/s", 5, .001, 100, outage(sim.Dead())),
		world(Stay, "S5b", "all 5 fail 60 % for 5 min, 100/s", 5, .001, 100, outage(sim.Fails(.6))),
		world(Stay, "S5c", "all 5 fail 90 % for 5 min, 100/s", 5, .001, 100, outage(sim.Fails(.9))),
		world(Stay, "S5d", "both of 2 dead for 5 min, 20/s", 2, .001, 20, outage(sim.Dead())),
		world(Stay, "S5e", "all 3 fail 60 % for 5 of 10 min, 6/s", 3, .001, 6, both(outage(sim.Fails(.6)), lasting(10*time.Minute))),
		world(Stay, "S6", "all 5 fail 1 %, 1000/s", 5, .01, 1000, nil),
		world(Stay, "S6b", "all 5 fail 10 %, 200/s", 5, .1, 200, nil),
		world(Stay, "S6c", "all 5 fail 5 %, 2/s", 5, .05, 2, nil),
		world(Stay, "S6d", "all 5 fail 10 %, 5/s", 5, .1, 5, nil),
		world(Stay, "S6e", "all 10 fail 30 %, 50/s", 10, .3, 50, nil),
		world(Stay, "N3", "all 5 fail 0 to 30 %, anew every 3 s or so, 100/s", 5, 0, 100, all(noise(3*time.Second))),
		world(Stay, "N3b", "all 5 fail 0 to 30 %, anew every 20 s or so, 100/s", 5, 0, 100, all(noise(20*time.Second))),
		world(Stay, "N3c", "all 20 fail 0 to 30 %, anew every .5 s or so, 200/s", 20, 0, 200, all(noise(500*time.Millisecond))),
		world(Stay, "N3e", "all 5 fail 0 to 30 %, anew every 3 s or so, 10/s", 5, 0, 10, all(noise(3*time.Second))),
		world(Stay, "N3f", "shocks: every 20 s or so all 5 fail 30 to 100 % for .2 to 2 s, 100/s", 5, .005, 100, all(shocks())),
		world(Stay, "N3g", "shocks for 2, 50/s", 2, .005, 50, all(shocks())),
		world(Stay, "N3h", "shocks for 50, 500/s", 50, .005, 500, all(shocks())),
		world(Stay, "N4", "20 instances that fail 1 to 3 %, 400/s", 20, 0, 400, spread),
		world(Stay, "N4b", "1 of 5 fails 3 %, the rest 1 %, 200/s", 5, .01, 200, worse(.03)),
		world(Stay, "N4c", "1 of 5 fails 3 %, the rest 1 %, 1000/s", 5, .01, 1000, worse(.03)),
		world(Stay, "N5", "100 that fail 1 %, 1/s each", 100, .01, 100, nil),
		world(Stay, "N5b", "100 that fail 5 %, 1/s each", 100, .05, 100, nil),
		world(Stay, "N5c", "1000 that fail 1 %, 1/s each", 1000, .01, 1000, nil),
		world(Stay, "N5d", "1000 that fail 5 %, 1/s each", 1000, .05, 1000, nil),
	}
}

func lasting(length time.Duration) func(*sim.Scenario) {
	return func(s *sim.Scenario) { s.Length = length }
}

// returning are the worlds in which an instance gets well.
func returning() []World {
	sick := ill(1, sim.Between(0, 2*time.Minute, sim.Dead()))
	return []World{
		world(Return, "R1", "1 of 5 dead for 2 min, then well; all fail 10 %, 100/s", 5, .1, 100, sick),
		world(Return, "R2", "1 of 5 dead for 2 min, then well; all 0 to 30 %, anew every 3 s or so, 100/s", 5, 0, 100, both(sick, all(noise(3*time.Second)))),
		world(Return, "R3", "1 of 5 dead for 2 min, then well; shocks for all, 100/s", 5, .005, 100, both(sick, all(shocks()))),
	}
}

// latching are the worlds in which everything dies for a moment while some are dead anyhow.
func latching() []World {
	moment := all(sim.Between(5*time.Minute, 5*time.Minute+10*time.Second, sim.Dead()))
	return []World{
		world(Latch, "L1", "2 of 5 dead, and everything for 10 s, 100/s", 5, .001, 100, both(ill(2, dead()), moment)),
		world(Latch, "L2", "3 of 5 dead, and everything for 10 s, 70/s", 5, .001, 70, both(ill(3, dead()), moment)),
	}
}
