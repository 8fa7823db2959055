package flow

import (
	"context"
	"testing"
	"time"
)

// The work is to be read beside BenchmarkClock of the same run: a call costs one reading of the clock besides.

var sink time.Duration

func BenchmarkClock(b *testing.B) {
	base := time.Now()
	for b.Loop() {
		sink += time.Since(base)
	}
}

func benchLimiter(b *testing.B, r Rule) *Limiter {
	l, err := NewLimiter(r, 0)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func BenchmarkReject(b *testing.B) {
	b.Run("admitted", func(b *testing.B) {
		l := benchLimiter(b, Rule{Limit: 10_000_000})
		var now time.Duration
		for b.Loop() {
			now += 150
			l.Acquire(now, 1)
		}
	})
	b.Run("admitted in turn", func(b *testing.B) { // every call opens a group
		l := benchLimiter(b, Rule{Limit: 100})
		var now time.Duration
		for b.Loop() {
			now += 10 * time.Millisecond
			l.Acquire(now, 1)
		}
	})
	b.Run("refused", func(b *testing.B) {
		l := benchLimiter(b, Rule{Limit: 1000, Per: 24 * time.Hour})
		for range 1000 {
			l.Acquire(0, 1)
		}
		now := time.Hour
		for b.Loop() {
			now++
			l.Acquire(now, 1)
		}
	})
	b.Run("cancelled", func(b *testing.B) {
		l := benchLimiter(b, Rule{Limit: 1000})
		now := time.Hour
		for b.Loop() {
			now++
			p, _, _, _ := l.Acquire(now, 1)
			l.Cancel(now, p)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		l := benchLimiter(b, Rule{Limit: 10_000_000})
		base := time.Now()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				l.Acquire(time.Since(base), 1)
			}
		})
	})
}

func BenchmarkSmooth(b *testing.B) {
	l := benchLimiter(b, Rule{Limit: 10_000_000, Mode: Smooth, Burst: 100})
	var now time.Duration
	for b.Loop() {
		now += 150
		l.Acquire(now, 1)
	}
}

func BenchmarkPace(b *testing.B) {
	l := benchLimiter(b, Rule{Limit: 10_000_000, Mode: Pace, MaxWait: time.Second})
	var now time.Duration
	for b.Loop() {
		now += 150
		l.Acquire(now, 1)
	}
}

func BenchmarkWarmUp(b *testing.B) {
	l := benchLimiter(b, Rule{Limit: 10_000_000, Mode: WarmUp})
	var now time.Duration
	for b.Loop() {
		now += 150
		l.Acquire(now, 1)
	}
}

func BenchmarkBulkhead(b *testing.B) {
	bh, err := NewBulkhead(ConcurrencyRule{Limit: 10}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("TryAcquire+Release", func(b *testing.B) {
		for b.Loop() {
			bh.TryAcquire(1)
			bh.Release(1)
		}
	})
	b.Run("Acquire+Release", func(b *testing.B) {
		ctx := context.Background()
		for b.Loop() {
			_ = bh.Acquire(ctx, 1)
			bh.Release(1)
		}
	})
}
