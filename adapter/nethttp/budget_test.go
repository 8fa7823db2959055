package nethttp

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func defaultBudget(now time.Duration) *budget { return newBudget(Retry{}.WithDefaults(), now) }

// takes counts how many retries the budget gives at once.
func (b *budget) takes(now time.Duration) (n int) {
	for {
		if _, ok := b.take(now); !ok {
			return n
		}
		n++
	}
}

func TestBudgetOfTime(t *testing.T) {
	t.Parallel()
	b := defaultBudget(0)
	require.Equal(t, 30, b.takes(0), "ten seconds' worth at the start")
	require.Zero(t, b.takes(333*time.Millisecond))
	require.Equal(t, 1, b.takes(334*time.Millisecond))
	require.Equal(t, 2, b.takes(time.Second))
	require.Equal(t, 3, b.takes(2*time.Second))
	require.Equal(t, 30, b.takes(time.Hour), "no more is saved up")
	require.Equal(t, 3, b.takes(time.Hour+time.Second))
}

func TestBudgetOfRequests(t *testing.T) {
	t.Parallel()
	b := defaultBudget(0)
	b.takes(0)
	for range 9 {
		b.request()
	}
	require.Zero(t, b.takes(0))
	b.request()
	require.Equal(t, 1, b.takes(0), "one in ten")
	for range 100_000 {
		b.request()
	}
	require.Equal(t, 100, b.takes(0), "a thousand requests' worth is saved up, no more")
}

// What is allowed is the larger of the two, not their sum: at 200 requests a second, all of which want to be sent again, a tenth is; at 5 a second, three are.
func TestBudgetIsTheLarger(t *testing.T) {
	t.Parallel()
	for rate, want := range map[int]int{200: 20, 100: 10, 31: 3, 30: 3, 5: 3, 2: 2} {
		b := defaultBudget(0)
		b.takes(0)
		retries, seconds := 0, 1000
		for i := range rate * seconds {
			b.request()
			if _, ok := b.take(time.Duration(i+1) * time.Second / time.Duration(rate)); ok {
				retries++
			}
		}
		require.InDelta(t, want*seconds, retries, float64(seconds)*.1+1, "%d a second", rate)
	}
}

func TestBudgetGivenBack(t *testing.T) {
	t.Parallel()
	b := defaultBudget(0)
	for range 10 {
		b.request()
	}
	for range 1000 {
		took, ok := b.take(0)
		require.True(t, ok)
		b.giveBack(took)
	}
	require.Equal(t, 30, b.takes(0), "the tenth of ten requests and the first of thirty are one")
}

// Whatever comes in whatever order, there are never more retries than either of the savings can have paid for.
func TestBudgetNeverExceeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Retry{
			Budget:       rapid.Float64Range(.001, 1).Draw(t, "budget"),
			MinPerSecond: rapid.Float64Range(.01, 1000).Draw(t, "minPerSecond"),
		}
		var now time.Duration
		b := newBudget(r, now)
		requests, retries, bySaving := 0, 0, 0.0
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				now += time.Duration(rapid.Int64Range(-int64(time.Second), int64(5*time.Second)).Draw(t, "ns"))
			case 1:
				b.request()
				requests++
			default:
				if _, ok := b.take(now); ok {
					retries++
				}
			}
			latest := max(now, 0)
			bySaving = max(bySaving, max(savedTime.Seconds()*r.MinPerSecond, 1)+latest.Seconds()*r.MinPerSecond)
			most := float64(requests)*r.Budget + bySaving
			if float64(retries) > most+1e-3*float64(retries)+1e-6 {
				t.Fatalf("%d retries after %d requests in %v, at most %v", retries, requests, now, most)
			}
		}
	})
}

// Of many takers at once no more are served than there is.
func TestBudgetConcurrently(t *testing.T) {
	t.Parallel()
	b := defaultBudget(0)
	for range 500 {
		b.request()
	}
	var took sync.WaitGroup
	results := make(chan int, 64)
	for range 64 {
		took.Go(func() {
			n := 0
			for range 20 {
				if t, ok := b.take(0); ok {
					if rand.IntN(2) == 0 {
						b.giveBack(t)
						continue
					}
					n++
				}
			}
			results <- n
		})
	}
	took.Wait()
	close(results)
	sum := 0
	for n := range results {
		sum += n
	}
	require.Equal(t, 50, sum+b.takes(0))
}
