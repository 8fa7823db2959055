package paramflow

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/rule"
)

// The work is to be read beside BenchmarkClock of the same run: a call costs one reading of the clock besides.

var sink time.Duration

func BenchmarkClock(b *testing.B) {
	base := time.Now()
	for b.Loop() {
		sink += time.Since(base)
	}
}

// zipf returns values of which few are frequent, out of n.
func zipf(n int, text bool) []extractor.Value {
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.07, 1, uint64(n-1))
	values := make([]extractor.Value, 1<<20)
	for i := range values {
		k := z.Uint64()
		if text {
			values[i] = extractor.Text("user-" + strconv.FormatUint(k, 16))
		} else {
			values[i] = extractor.Int(int64(k))
		}
	}
	return values
}

func BenchmarkAcquire(b *testing.B) {
	users := make([]Override, 5000)
	for i := range users {
		users[i] = Override{Value: Scalar("user-" + strconv.FormatUint(uint64(i), 16)), Limit: 500}
	}
	rules := map[string]Rule{
		"reject":    {Limit: 10},
		"pace":      {Limit: 10, Mode: Pace, MaxWait: time.Second},
		"only":      {Limit: 10, Only: rule.Wildcard("user-*")},
		"overrides": {Limit: 10, Overrides: users},
		"patterns":  {Limit: 10, Overrides: []Override{{Wildcard: "vip-*", Limit: 100}, {Regex: "user-[0-9]", Limit: 100}}},
	}
	loads := map[string][]extractor.Value{
		"one":      {extractor.Text("user-12345")},
		"zipf":     zipf(1_000_000, true),
		"zipf int": zipf(1_000_000, false),
	}
	for name, r := range rules {
		for load, values := range loads {
			b.Run(name+"/"+load, func(b *testing.B) {
				l, err := NewLimiter(r, 0, extractor.SeedOf(1))
				if err != nil {
					b.Fatal(err)
				}
				base := time.Now()
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					l.Acquire(time.Since(base), values[i&(len(values)-1)], 1)
					i++
				}
			})
		}
	}
	b.Run("concurrency/zipf", func(b *testing.B) {
		l, _ := NewLimiter(Rule{Limit: 10, Mode: Concurrency}, 0, extractor.SeedOf(1))
		values := loads["zipf"]
		base := time.Now()
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			if p, _, _, ok := l.Acquire(time.Since(base), values[i&(len(values)-1)], 1); ok {
				l.Release(p)
			}
			i++
		}
	})
}

// BenchmarkTwo is about two goroutines: on one value, and on values of their own.
func BenchmarkTwo(b *testing.B) {
	for name, values := range map[string][2]string{"one value": {"a", "a"}, "different values": {"a", "b"}} {
		for callers := 1; callers <= 2; callers++ {
			b.Run(name+"/"+strconv.Itoa(callers), func(b *testing.B) {
				l, _ := NewLimiter(Rule{Limit: 10}, 0, extractor.SeedOf(1))
				base := time.Now()
				var wg sync.WaitGroup
				for c := range callers {
					v := extractor.Text(values[c])
					wg.Go(func() {
						for range b.N / callers {
							l.Acquire(time.Since(base), v, 1)
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// BenchmarkHash is what it costs to touch the values of BenchmarkAcquire alone.
func BenchmarkHash(b *testing.B) {
	values := zipf(1_000_000, true)
	seed := extractor.SeedOf(1)
	base := time.Now()
	var sum uint64
	i := 0
	for b.Loop() {
		sink += time.Since(base)
		sum += values[i&(len(values)-1)].Hash(seed)
		i++
	}
	_ = sum
}
