package bench_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/bench"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

var sets = []struct {
	name string
	set  bench.Set
}{
	{"none", bench.Set{}},
	{"flow", bench.Set{Flow: true}},
	{"breaker", bench.Set{Breaker: true}},
	{"concurrency", bench.Set{Concurrency: true}},
	{"all", bench.Set{Flow: true, Breaker: true, Concurrency: true}},
}

func engine(tb testing.TB, s bench.Set) *cordon.Engine {
	e, err := s.Engine()
	require.NoError(tb, err)
	tb.Cleanup(func() { e.Close() })
	return e
}

func BenchmarkFloor(b *testing.B) {
	base := time.Now()
	var last time.Duration
	b.Run("now", func(b *testing.B) {
		for range b.N {
			last = time.Duration(time.Now().Nanosecond())
		}
	})
	b.Run("one-read", func(b *testing.B) { last += bench.Now(base, b.N) })
	b.Run("two-reads", func(b *testing.B) { last += bench.TwoReads(base, b.N) })
	_ = last
}

func BenchmarkEnterExit(b *testing.B) {
	for _, s := range sets {
		e := engine(b, s.set)
		b.Run(s.name+"/name", func(b *testing.B) {
			b.ReportAllocs()
			bench.ByName(e, bench.Names(), b.N)
		})
		b.Run(s.name+"/handle", func(b *testing.B) {
			b.ReportAllocs()
			bench.ByHandle(e.Resource(bench.Name(0)), b.N)
		})
	}
}

func BenchmarkRefused(b *testing.B) {
	for _, s := range sets[1:4] {
		s.set.Refuse = true
		e := engine(b, s.set)
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			bench.ByHandle(e.Resource(bench.Name(0)), b.N)
		})
	}
}

// inbound returns inbound calls: without system rules, with them, and refused by them.
func inbound(tb testing.TB) map[string]*bench.Inbound {
	all := map[string]*bench.Inbound{}
	for name, c := range map[string][2]bool{"none": {}, "guarded": {true, false}, "refused": {true, true}} {
		in, err := bench.NewInbound(c[0], c[1])
		require.NoError(tb, err)
		tb.Cleanup(in.Close)
		all[name] = in
	}
	return all
}

func BenchmarkInbound(b *testing.B) {
	for name, in := range inbound(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			in.Call(b.N)
		})
	}
}

func BenchmarkParallel(b *testing.B) {
	e := engine(b, bench.Set{Flow: true, Breaker: true, Concurrency: true})
	b.Run("same", func(b *testing.B) {
		h := e.Resource(bench.Name(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				bench.ByHandle(h, 1)
			}
		})
	})
	b.Run("different", func(b *testing.B) {
		var next atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			h := e.Resource(bench.Name(int(next.Add(1))))
			for pb.Next() {
				bench.ByHandle(h, 1)
			}
		})
	})
}

func BenchmarkApply(b *testing.B) {
	const n = 10_000
	var first cordon.Rules
	for i := range n {
		first.Flow = append(first.Flow, flow.Rule{ID: fmt.Sprint(i), Resource: rule.Name(fmt.Sprint("r", i)), Limit: 100})
	}
	apply := func(b *testing.B, e *cordon.Engine, r cordon.Rules) {
		if _, err := e.Apply(r); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("10000-first", func(b *testing.B) {
		for range b.N {
			e, _ := cordon.New()
			apply(b, e, first)
		}
	})
	b.Run("10000-same", func(b *testing.B) {
		e, _ := cordon.New(cordon.WithRules(first))
		b.ResetTimer()
		for range b.N {
			apply(b, e, first)
		}
	})
	b.Run("10000-one", func(b *testing.B) {
		e, _ := cordon.New(cordon.WithRules(first))
		b.ResetTimer()
		for i := range b.N {
			first.Flow[n/2].Limit = float64(1000 + i)
			apply(b, e, first)
		}
	})
}

func BenchmarkMemory(b *testing.B) {
	for name, limit := range map[string]float64{"none": -1, "flow+breaker-100": 100, "flow+breaker-any": 1_000_000} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				n, err := bench.BytesPerResource(limit)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(n, "B/resource")
			}
		})
	}
}

// The budget's allocation gates, as an ordinary test.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	names := bench.Names()
	for _, s := range sets {
		for _, refuse := range []bool{false, true} {
			s.set.Refuse = refuse && s.name != "none"
			e := engine(t, s.set)
			h := e.Resource(bench.Name(0))
			require.Zero(t, testing.AllocsPerRun(1000, func() { bench.ByHandle(h, 1) }), s.name)
			require.Zero(t, testing.AllocsPerRun(1000, func() { bench.ByName(e, names, 1) }), s.name)
		}
	}
}

// The same for system rules, which refuse all or nothing.
func TestInboundAllocations(t *testing.T) {
	for name, in := range inbound(t) {
		in.Call(100)
		require.Equal(t, map[string]int{"refused": 100}[name], in.Refused, name)
		if !raceEnabled {
			require.Zero(t, testing.AllocsPerRun(1000, func() { in.Call(1) }), name)
		}
	}
}

// The budget's bytes per resource, as an ordinary test: it counts, so no noise moves it.
func TestBytesPerResource(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("counts the heap of 10,000 resources")
	}
	for _, c := range []struct {
		limit, most float64
	}{{-1, 1024}, {100, 2.4 * 1024}, {1_000_000, 4 * 1024}} {
		n, err := bench.BytesPerResource(c.limit)
		require.NoError(t, err)
		require.LessOrEqual(t, n, c.most, "limit %v", c.limit)
	}
}

// The works must do what they say: refuse where they are to refuse, pass where they are to pass.
func TestWorksDoWhatTheySay(t *testing.T) {
	for _, s := range sets {
		e := engine(t, s.set)
		_, err := e.Enter(context.Background(), cordon.Request{Resource: bench.Name(5)})
		require.NoError(t, err)
		if s.name == "none" {
			continue
		}
		s.set.Refuse = true
		e = engine(t, s.set)
		_, err = e.Enter(context.Background(), cordon.Request{Resource: bench.Name(5)})
		require.ErrorIs(t, err, cordon.ErrBlocked)
	}
	for _, json := range []bool{true, false} {
		d, err := cordon.Native("doc", bench.Document(100, json))
		require.NoError(t, err)
		require.Empty(t, d.Problems)
		require.Len(t, d.Rules.Flow, 100)
	}
}
