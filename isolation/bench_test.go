package isolation

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// The floor that the others are compared with: the clock read that a caller makes.
func BenchmarkClockRead(b *testing.B) {
	origin := time.Now()
	var sum time.Duration
	for b.Loop() {
		sum += time.Since(origin)
	}
	_ = sum
}

var sizes = []int{5, 1000, 10_000}

func each(b *testing.B, do func(b *testing.B, p *play)) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newPlay(b, Rule{}, n)
			b.ReportAllocs()
			do(b, p)
		})
	}
}

func BenchmarkSuccess(b *testing.B) {
	each(b, func(b *testing.B, p *play) {
		i := 0
		for b.Loop() {
			p.now++
			v := p.g.View(p.now)
			if i++; i >= len(v.Candidates) {
				i = 0
			}
			c, _ := v.Candidates[i].Member.Begin(p.now)
			c.End(p.now, Success)
		}
	})
}

// The instances of regions are counted twice.
func BenchmarkSuccessInRegions(b *testing.B) {
	p := newPlay(b, Rule{}, 0)
	p.g.Update(p.now, regions(5, 5))
	m := p.member(0)
	for b.Loop() {
		c, _ := m.Begin(p.now)
		c.End(p.now, Success)
	}
}

func BenchmarkSuccessInAWindow(b *testing.B) {
	p := newPlay(b, Rule{MinSuccessRate: .5}, 5)
	m := p.member(0)
	for b.Loop() {
		p.now += 1000
		c, _ := m.Begin(p.now)
		c.End(p.now, Success)
	}
}

// An isolated failure among many successes.
func BenchmarkFailure(b *testing.B) {
	each(b, func(b *testing.B, p *play) {
		m := p.member(0)
		for b.Loop() {
			p.now += 1000
			m.word.Add(1000 * oneResult)
			p.g.all.word.Add(5000 * oneResult)
			c, _ := m.Begin(p.now)
			c.End(p.now, Failure)
		}
	})
}

// A failure at which the whole ratio is worked out, and is not enough.
func BenchmarkFailureUnderEvaluation(b *testing.B) {
	s := newSheet(Rule{MinGap: .01, MinRatio: 1.5}, 5)
	s.good(200)
	s.peers(800, 40)
	for range 60 {
		s.fail()
	}
	par := at(Rule{}, 5)
	b.Run("judge", func(b *testing.B) {
		for b.Loop() {
			before := s.detector
			s.judge(s.now, s.p, s.own, s.all, stage{s.own.less().short(), s.all.less().short()}, false, 0, 5)
			s.detector = before
		}
	})
	b.Run("ratio", func(b *testing.B) {
		for b.Loop() {
			par.ratio(120, 20, 480, 30)
		}
	})
}

func BenchmarkView(b *testing.B) {
	each(b, func(b *testing.B, p *play) {
		for b.Loop() {
			p.now++
			p.g.View(p.now)
		}
	})
}

// What a change costs: the view built anew.
func BenchmarkBuild(b *testing.B) {
	each(b, func(b *testing.B, p *play) {
		for b.Loop() {
			p.now++
			p.g.mu.Lock()
			p.g.build(p.now)
			p.g.mu.Unlock()
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	each(b, func(b *testing.B, p *play) {
		list := instances(p.n)
		i := 0
		for b.Loop() {
			i++
			list[i%len(list)].Weight = float64(1 + i%9)
			p.g.Update(p.now, list)
		}
	})
}

func BenchmarkUpdateUnchanged(b *testing.B) {
	each(b, func(b *testing.B, p *play) {
		list := instances(p.n)
		for b.Loop() {
			p.g.Update(p.now, list)
		}
	})
}

// One group of 50 in a process that has 1000 of them.
func BenchmarkUpdateOneOfAThousand(b *testing.B) {
	var groups []*Group
	lists := [2][]Instance{instances(50), instances(51)[1:]}
	for range 1000 {
		g, err := NewGroup("orders", Config{Rule: &Rule{}})
		if err != nil {
			b.Fatal(err)
		}
		g.Update(0, lists[0])
		groups = append(groups, g)
	}
	i := 0
	for b.Loop() {
		i++
		groups[i%1000].Update(0, lists[i/1000%2])
	}
}

func BenchmarkSnapshot(b *testing.B) {
	each(b, func(b *testing.B, p *play) {
		for b.Loop() {
			p.g.Snapshot(p.now)
		}
	})
}

func BenchmarkParallel(b *testing.B) {
	each(b, func(b *testing.B, p *play) {
		var turn atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			i := int(turn.Add(1)) * 3
			for pb.Next() {
				v := p.g.View(p.now)
				i++
				c, _ := v.Candidates[i%len(v.Candidates)].Member.Begin(p.now)
				c.End(p.now, Success)
			}
		})
	})
}
