package isolation

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// at returns the params of a rule for n instances.
func at(r Rule, n int) *params { return newParams(&r, n) }

func TestEvidenceFacts(t *testing.T) {
	t.Parallel()
	p := at(Rule{}, 5)
	require.InDelta(t, 10.4, p.ratio(5, 5, 20, 0), .05)
	require.InDelta(t, .026, p.tolerated(.001), .0005)
	require.InDelta(t, .161, p.tolerated(.10), .0005)
	require.InDelta(t, .634, p.tolerated(.5), .0005)
	require.InDelta(t, .999, p.tolerated(1), 1e-12)
	require.InDelta(t, .025, p.tolerated(0), 1e-12)
	require.InDelta(t, math.Log(5), p.logInstances, 1e-12)
}

func TestEvidenceWithoutPeersIsNone(t *testing.T) {
	t.Parallel()
	p := at(Rule{}, 5)
	require.Zero(t, p.ratio(100, 100, 0, 0))
	require.Zero(t, p.ratio(0, 0, 100, 0))
	require.Zero(t, p.ratio(-1, 0, 100, 0))
}

func TestDivergence(t *testing.T) {
	t.Parallel()
	require.Zero(t, divergence(.3, .3))
	require.InDelta(t, math.Log(2), divergence(0, .5), 1e-12)
	require.InDelta(t, math.Log(2), divergence(1, .5), 1e-12)
	require.Zero(t, divergence(0, 0))
	require.Zero(t, divergence(1, 1))
	require.True(t, math.IsInf(divergence(.5, 0), 1))
	require.True(t, math.IsInf(divergence(.5, 1), 1))
	require.InDelta(t, .5*math.Log(.5/.1)+.5*math.Log(.5/.9), divergence(.5, .1), 1e-12)
}

// The minimum that 30 steps of golden section find is the one of a fine grid.
func TestEvidenceIsTheLeast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := at(Rule{MinGap: rapid.Float64Range(.01, .5).Draw(t, "gap"), MinRatio: rapid.Float64Range(1.5, 10).Draw(t, "ratio")}, 5)
		n := rapid.Int64Range(1, 8000).Draw(t, "n")
		f := rapid.Int64Range(0, n).Draw(t, "f")
		N := rapid.Int64Range(1, 100_000).Draw(t, "N")
		F := rapid.Int64Range(0, N).Draw(t, "F")
		got := p.ratio(n, f, N, F)
		own, others := float64(f)/float64(n), float64(F)/float64(N)
		least := math.Inf(1)
		const steps = 3000
		for i := range steps + 1 {
			q := others + (1-others)*float64(i)/steps
			if q <= 0 || q >= 1 {
				q = min(max(q, 1e-12), 1-1e-12)
			}
			nats := float64(N) * divergence(others, q)
			if tol := p.tolerated(q); tol < own {
				nats += float64(n) * divergence(own, tol)
			}
			least = min(least, nats)
		}
		require.False(t, math.IsNaN(got) || got < -1e-9)
		// The section stops within a millionth of the minimum, the grid within a step.
		require.LessOrEqual(t, got, least+1e-6*float64(1+n+N), "n %d f %d N %d F %d: the grid finds less", n, f, N, F)
		require.GreaterOrEqual(t, got, least-max(.2, .05*least), "n %d f %d N %d F %d: the grid finds more", n, f, N, F)
	})
}

// More failures of one's own never speak less against one, more of the peers never more.
func TestEvidenceGrowsWithFailures(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := at(Rule{}, 5)
		n := rapid.Int64Range(1, 1000).Draw(t, "n")
		f := rapid.Int64Range(0, n-1).Draw(t, "f")
		N := rapid.Int64Range(1, 10_000).Draw(t, "N")
		F := rapid.Int64Range(0, N-1).Draw(t, "F")
		is := p.ratio(n, f, N, F)
		require.GreaterOrEqual(t, p.ratio(n, f+1, N, F), is-1e-6)
		require.LessOrEqual(t, p.ratio(n, f, N, F+1), is+1e-6)
	})
}
