package worlds

import (
	"time"

	"github.com/cordon-go/cordon/sim"
)

// usual is how long calls take in these worlds, and patience how long clients wait.
func usual() sim.Latency {
	return sim.LogNormal{Median: 20 * time.Millisecond, P99: 200 * time.Millisecond}
}

const patience = time.Second

// service makes a scenario with latencies and timeouts.
func service(name, about string, n int, rate float64, length time.Duration, change func(*sim.Scenario)) World {
	w := world(Beyond, name, about, n, .001, rate, nil)
	s := &w.Scenario
	s.Length = length
	s.Grace = 3 * patience // calls of an illness end after it
	for i := range s.Instances {
		s.Instances[i].Base.Latency = usual()
	}
	s.Clients[0].Timeout = patience
	if change != nil {
		change(s)
	}
	return w
}

// beyond are the worlds with what the simple physics leaves out.
func beyond() []World {
	const minute = time.Minute
	return []World{
		service("B1", "1 of 5 hangs, timeout 1 s, 100/s", 5, 100, 20*minute, ill(1, sim.From(5*minute, sim.Hung()))),
		service("B2", "1 of 5 gets slow: .5 to 1.5 s, timeout 1 s, 100/s", 5, 100, 20*minute,
			ill(1, sim.From(5*minute, sim.Slow(sim.Uniform{Min: 500 * time.Millisecond, Max: 1500 * time.Millisecond})))),
		service("B3", "4 clients of 25/s each; 1 of 5 fails 50 %", 5, 25, 20*minute, both(clients(4), ill(1, sim.From(5*minute, sim.Fails(.5))))),
		service("B4", "4 of 8 leave and come again in turn; 1 other dead, and all for 20 s, 100/s", 8, 100, 30*minute, func(s *sim.Scenario) {
			churn(s, 1, 5)
			s.Instances[7].Ill = []sim.Script{sim.From(5*minute, sim.Dead())}
			s.Common = []sim.Script{sim.Between(15*minute, 15*minute+20*time.Second, sim.Dead())}
		}),
		service("B5", "own region of 4 lost for 5 min, 4 elsewhere, 200/s", 8, 200, 20*minute, func(s *sim.Scenario) {
			for i := range s.Instances {
				s.Instances[i].Region = [...]string{"here", "there"}[i/4]
			}
			s.Clients[0].Region = "here"
			ill(4, sim.Between(5*minute, 10*minute, sim.Dead()))(s)
		}),
		service("B6", "6 restart in turn, a minute apart: 10 s down, then slow, 120/s", 6, 120, 20*minute, func(s *sim.Scenario) {
			for i := range s.Instances {
				s.Instances[i].Ill = []sim.Script{sim.Restart{
					At: time.Duration(2+i) * minute, Down: 10 * time.Second, Warmup: 20 * time.Second, Slow: sim.Exponential{Mean: 50 * time.Millisecond},
				}}
			}
		}),
		service("B7", "1 of 20 fails 20 %, 10000/s", 20, 10_000, minute, ill(1, sim.From(20*time.Second, sim.Fails(.2)))),
		service("B8", "2 of 5 dead, each can take twice its fair share of 100/s", 5, 100, 20*minute, both(ill(2, sim.From(minute, sim.Dead())), capacity(40))),
		service("B9", "shocks for 5, one of them ten times as slow, 100/s", 5, 100, 60*minute, both(all(shocks()), far)),
		service("B10", "all 5 hang for a minute, timeout 1 s, 100/s", 5, 100, 20*minute, all(sim.Between(5*minute, 6*minute, sim.Hung()))),
		service("B11", "1 of 5 dead; a retry within a budget of 10 %, 100/s", 5, 100, 20*minute, both(ill(1, sim.From(5*minute, sim.Dead())), retrying)),
		service("B12", "1 of 5 answers 30 % with 'not now', 100/s", 5, 100, 20*minute, ill(1, sim.From(5*minute, sim.Condition{Throttles: .3}))),
		service("B13", "shocks for 5, four clients of 25/s", 5, 25, 60*minute, both(all(shocks()), clients(4))),
		service("B14", "for 5 min three times as many calls as 5 instances of 10 workers can do", 5, 200, 20*minute, overload),
	}
}

// clients makes so many of the one client.
func clients(n int) func(*sim.Scenario) {
	return func(s *sim.Scenario) {
		for len(s.Clients) < n {
			s.Clients = append(s.Clients, s.Clients[0])
		}
	}
}

// churn has the instances from one place up to another leave for 20 s, one after the other, again and again.
func churn(s *sim.Scenario, from, to int) {
	const away = 20 * time.Second
	i := from
	for at := time.Minute; at < s.Length; at += away {
		s.Instances[i].Absent = append(s.Instances[i].Absent, sim.Span{From: at, Until: at + away})
		if i++; i == to {
			i = from
		}
	}
}

// capacity is what each instance can take.
func capacity(rate float64) func(*sim.Scenario) {
	return func(s *sim.Scenario) {
		for i := range s.Instances {
			s.Instances[i].Capacity = rate
		}
	}
}

// far puts the first instance far away.
func far(s *sim.Scenario) {
	s.Instances[0].Base.Latency = sim.LogNormal{Median: 200 * time.Millisecond, P99: 600 * time.Millisecond}
}

// retrying has clients try again.
func retrying(s *sim.Scenario) { s.Clients[0].Retry = sim.Retry{Max: 2, Budget: .1} }

// overload has clients call three times as much for a while as the instances can work off.
func overload(s *sim.Scenario) {
	for i := range s.Instances {
		s.Instances[i].Workers, s.Instances[i].Queue = 10, 50
		s.Instances[i].Base.Latency = sim.Exponential{Min: 20 * time.Millisecond, Mean: 80 * time.Millisecond}
	}
	s.Clients[0].Loads = []sim.Load{{Rate: 200, Changes: []sim.RateChange{{At: 5 * time.Minute, Rate: 1500}, {At: 10 * time.Minute, Rate: 200}}}}
}
