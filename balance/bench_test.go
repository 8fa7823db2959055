package balance

import (
	"fmt"
	"testing"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// A pick with its call's begin and end, and the bare strategy: what is between them is isolation.

var sink int32

func benchBalancer(b *testing.B, o Options, list []isolation.Instance) *Balancer {
	g, err := isolation.NewGroup("orders", isolation.Config{Rule: &isolation.Rule{}, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	g.Update(0, list)
	balancer, err := New(g, o)
	if err != nil {
		b.Fatal(err)
	}
	return balancer
}

var sizes = [...]int{3, 100, 1000, 10_000}

func BenchmarkClock(b *testing.B) {
	base := time.Now()
	var last time.Duration
	for b.Loop() {
		last = time.Since(base)
	}
	_ = last
}

func BenchmarkPick(b *testing.B) {
	for s := RoundRobin; s <= ConsistentHash; s++ {
		for _, n := range sizes {
			balancer := benchBalancer(b, Options{Strategy: s}, in("", n))
			b.Run(fmt.Sprintf("%v/%d", s, n), func(b *testing.B) {
				b.ReportAllocs()
				var r Request
				for b.Loop() {
					r.Hash++
					c, _ := balancer.Pick(0, r)
					c.End(0, isolation.Success)
				}
			})
			b.Run(fmt.Sprintf("%v/%d/bare", s, n), func(b *testing.B) {
				strategy := balancer.plan.Load().own.steady
				var hash uint64
				for b.Loop() {
					hash++
					sink += strategy.choose(hash, 0)
				}
			})
		}
	}
}

// Weights that are all different, as in a slow start of many.
func BenchmarkPickWeighted(b *testing.B) {
	for s := RoundRobin; s <= ConsistentHash; s++ {
		list := in("", 1000)
		for i := range list {
			list[i].Weight = .1 + float64(i)/1000
		}
		balancer := benchBalancer(b, Options{Strategy: s}, list)
		b.Run(s.String(), func(b *testing.B) {
			var r Request
			for b.Loop() {
				r.Hash++
				c, _ := balancer.Pick(0, r)
				c.End(0, isolation.Success)
			}
		})
	}
}

// With regions, every call is one to the instance's region too.
func BenchmarkPickRegion(b *testing.B) {
	for s := RoundRobin; s <= ConsistentHash; s++ {
		o, list := regions(Options{Strategy: s}, 100)
		balancer := benchBalancer(b, o, list)
		b.Run(s.String(), func(b *testing.B) {
			b.ReportAllocs()
			var r Request
			for b.Loop() {
				r.Hash++
				c, _ := balancer.Pick(0, r)
				c.End(0, isolation.Success)
			}
		})
	}
}

func BenchmarkPickParallel(b *testing.B) {
	for s := RoundRobin; s <= ConsistentHash; s++ {
		balancer := benchBalancer(b, Options{Strategy: s}, in("", 1000))
		b.Run(s.String(), func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				var r Request
				for pb.Next() {
					r.Hash += golden
					c, _ := balancer.Pick(0, r)
					c.End(0, isolation.Success)
				}
			})
		})
	}
}

// What a change of the view costs the call that finds it.
func BenchmarkPlan(b *testing.B) {
	for s := RoundRobin; s <= ConsistentHash; s++ {
		for _, n := range []int{50, 10_000} {
			for name, slow := range map[string]float64{"equal": 1, "weighted": .5} {
				list := in("", n)
				list[n/2].Weight = slow
				balancer := benchBalancer(b, Options{Strategy: s}, list)
				view := balancer.group.View(0)
				b.Run(fmt.Sprintf("%v/%d/%s", s, n, name), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						balancer.compile(view, 0)
					}
				})
			}
		}
	}
}
