package stat_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/cordon-go/cordon/stat"
)

// The first two are what the others are compared with: the clock read a caller makes, and the
// least an addition can cost.

func BenchmarkClockRead(b *testing.B) {
	origin := time.Now()
	var sum time.Duration
	for b.Loop() {
		sum += time.Since(origin)
	}
	_ = sum
}

func BenchmarkAtomicAdd(b *testing.B) {
	var n atomic.Int64
	for b.Loop() {
		n.Add(1)
	}
}

func BenchmarkWindowAdd(b *testing.B) {
	w := stat.NewWindow(100*time.Millisecond, 10, 4)
	now := time.Hour
	for b.Loop() {
		w.Add(now, 1, 1)
		now += 100
	}
}

func BenchmarkWindowAddAt(b *testing.B) {
	w := stat.NewWindow(100*time.Millisecond, 10, 4)
	bucket := w.Bucket(time.Hour)
	for b.Loop() {
		w.AddAt(bucket, 1, 1)
	}
}

func BenchmarkWindowAddRolling(b *testing.B) {
	w := stat.NewWindow(time.Microsecond, 10, 4)
	now := time.Duration(0)
	for b.Loop() {
		w.Add(now, 1, 1)
		now += time.Microsecond
	}
}

func BenchmarkWindowAddParallel(b *testing.B) {
	w := stat.NewWindow(100*time.Millisecond, 10, 4)
	origin := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w.Add(time.Since(origin), 1, 1)
		}
	})
}

func BenchmarkWindowSum(b *testing.B) {
	w := stat.NewWindow(100*time.Millisecond, 10, 4)
	for now := time.Duration(0); now < time.Second; now += 10 * time.Millisecond {
		w.Add(now, 1, 1)
	}
	for b.Loop() {
		w.Sum(time.Second, 1)
	}
}

func BenchmarkWindowTotal(b *testing.B) {
	w := stat.NewWindow(100*time.Millisecond, 10, 4)
	for b.Loop() {
		w.Total(1)
	}
}

func BenchmarkHistogramObserve(b *testing.B) {
	h := stat.NewHistogram(10 * time.Second)
	latency := time.Microsecond
	for b.Loop() {
		h.Observe(time.Second, latency)
		latency = (latency + 977) & 0xffffff
	}
}

func BenchmarkHistogramPercentiles(b *testing.B) {
	h := stat.NewHistogram(10 * time.Second)
	for i := range 1000 {
		h.Observe(0, time.Duration(i)*time.Millisecond)
	}
	qs, dst := []float64{0.5, 0.95, 0.99}, make([]time.Duration, 3)
	for b.Loop() {
		h.Percentiles(0, qs, dst)
	}
}
