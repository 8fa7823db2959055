package isolation

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A sheet is a detector with the counts it is shown.
type sheet struct {
	detector
	p        *params
	own, all counts
	now      time.Duration
	flight   int64
}

func newSheet(r Rule, n int) *sheet {
	s := &sheet{p: at(r, n)}
	s.start(0, s.own, s.all)
	return s
}

// peers counts results of the peers.
func (s *sheet) peers(calls, fails uint64) {
	s.all.calls += calls
	s.all.fails += fails
}

// good counts successes of the instance.
func (s *sheet) good(calls uint64) {
	s.own.calls += calls
	s.all.calls += calls
}

// fail counts a failure of the instance, and judges it.
func (s *sheet) fail() (Evidence, bool) {
	s.own.calls++
	s.own.fails++
	s.all.calls++
	s.all.fails++
	return s.judge(s.now, s.p, s.own, s.all, stage{s.own.less().short(), s.all.less().short()}, false, s.flight, float64(s.p.instances))
}

// The calls that a dead instance gets before it goes do not depend on the time they take.
func TestDeadIsFoundByCounts(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{0, ms, sec, time.Minute} {
		s := newSheet(Rule{}, 5)
		s.good(20)
		s.peers(80, 0)
		for n := 1; ; n++ {
			s.now += step
			s.peers(4, 0)
			if ev, sick := s.fail(); sick {
				require.LessOrEqual(t, n, 18)
				require.EqualValues(t, n, ev.Calls, "from the first failure on")
				break
			}
			require.Less(t, n, 18)
		}
	}
}

// The tests begin anew where the instance does no worse than is tolerated: what was good before does not hide what follows.
func TestATestBeginsWithTheIllness(t *testing.T) {
	t.Parallel()
	s := newSheet(Rule{}, 5)
	s.good(3000)
	s.peers(12_000, 12)
	s.fail()
	require.True(t, s.tests[slow].open)
	require.EqualValues(t, 3000, s.tests[slow].own.calls, "its first mark is just before the failure")
	s.good(200)
	s.peers(800, 0)
	s.fail() // 1 of 201 is tolerated
	require.EqualValues(t, 3201, s.tests[slow].own.calls)
	s.peers(4, 0)
	s.fail()
	require.EqualValues(t, 3201, s.tests[slow].own.calls, "it goes on")
}

// A window ends at its calls and its age.
func TestTheWindowsEnds(t *testing.T) {
	t.Parallel()
	s := newSheet(Rule{MaxWindowCalls: 1000, MinFailures: 20}, 5)
	s.peers(10, 0)
	s.fail()
	for range 3 {
		s.good(300)
		s.own.fails += 60
		s.all.fails += 60
		s.fail()
	}
	require.Zero(t, s.tests[slow].own.calls)
	s.good(98)
	s.fail() // the 1001st
	require.EqualValues(t, 1001, uint32(s.own.calls)-s.tests[slow].own.calls+1000)

	s = newSheet(Rule{MaxWindowAge: time.Minute, MinFailures: 20}, 5)
	s.fail()
	s.now = time.Minute
	s.fail()
	require.Zero(t, s.tests[slow].at)
	s.now++
	s.fail()
	require.Equal(t, s.now, s.tests[slow].at)
}

// The peers' results must outnumber the calls that were under way when the test began.
func TestCallsUnderWayDelayTheVerdict(t *testing.T) {
	t.Parallel()
	s := newSheet(Rule{}, 5)
	s.peers(1000, 0)
	s.flight = 100
	for range 30 {
		s.peers(6, 0)
		_, sick := s.fail()
		require.False(t, sick)
	}
	require.EqualValues(t, 100, s.tests[slow].underWay)
	s.peers(25, 0)
	_, sick := s.fail() // 199 of the peers' calls ended since
	require.False(t, sick)
	s.peers(1, 0)
	_, sick = s.fail()
	require.True(t, sick)
	require.Equal(t, 4., at(Rule{FlightFactor: 4}, 2).rule.FlightFactor)
}

// Fewer failures than the least number are no verdict, however strong.
func TestTheLeastFailures(t *testing.T) {
	t.Parallel()
	for _, least := range []int{3, 4, 9} {
		s := newSheet(Rule{MinFailures: least, Evidence: 8, MinGap: .01, MinRatio: 1.5}, 2)
		for n := 1; ; n++ {
			s.peers(1000, 0)
			_, sick := s.fail()
			require.Equal(t, n >= least, sick, "%d of %d", n, least)
			if sick {
				break
			}
		}
	}
}

// A quiet moment of the peers is no proof: their level is asked too.
func TestALuckyMomentOfThePeers(t *testing.T) {
	t.Parallel()
	found := func(level uint64) bool {
		s := newSheet(Rule{GrossRate: 1}, 5)
		for range 30 { // 30s in which all fail at that rate
			s.now += sec
			s.peers(100, level)
			s.good(25 - level/4)
			for range level / 4 {
				s.fail()
			}
		}
		for range 12 { // the instance fails, the peers do not
			s.peers(4, 0)
			if _, sick := s.fail(); sick {
				return true
			}
		}
		return false
	}
	require.True(t, found(0))
	require.False(t, found(60))
}

// The level's marks are LevelTime and LevelCalls apart.
func TestTheLevelsMarks(t *testing.T) {
	t.Parallel()
	s := newSheet(Rule{}, 5)
	s.now = 10*sec - 1
	s.peers(1000, 0)
	s.fail()
	require.Zero(t, s.newer.at, "too soon")
	s.now++
	s.fail()
	require.Equal(t, 10*sec, s.newer.at)
	require.Zero(t, s.older.at)
	s.now = 30 * sec
	s.peers(197, 0)
	s.fail() // 199 calls since, with its own
	require.Equal(t, 10*sec, s.newer.at, "too few")
	s.fail()
	require.Equal(t, 30*sec, s.newer.at)
	require.Equal(t, 10*sec, s.older.at)
	require.EqualValues(t, s.own.calls-1, s.newer.own.calls, "just before the failure")
}

// More evidence is asked for among many instances, and above RateRef calls a second.
func TestTheBound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n     int
		calls uint64
		more  float64
	}{{1, 0, 0}, {5, 100, 0}, {5, 5 * 20 * 10, 0}, {5, 5 * 200 * 10, math.Log(10)}, {1000, 1000 * 20 * 10, 0}, {1000, 1000 * 40 * 10, math.Log(2)}} {
		s := newSheet(Rule{}, c.n)
		s.peers(c.calls, 0)
		require.InDelta(t, 14+math.Log(float64(c.n))+c.more, s.bound(10*sec, s.p, s.all, float64(c.n)), 1e-9, "%+v", c)
		require.InDelta(t, 14+math.Log(float64(c.n)), s.bound(0, s.p, s.all, float64(c.n)), 1e-9, "no time has passed")
		require.InDelta(t, 14+math.Log(float64(c.n)), s.bound(-sec, s.p, s.all, float64(c.n)), 1e-9)
	}
}

// An instance within half the gap, or the square root of the ratio, of its peers is never sick: not by long runs either.
func TestWhatIsToleratedIsNeverSick(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ own, peers float64 }{{.001, .001}, {.02, .001}, {.15, .1}, {.6, .5}, {1, 1}} {
		s := newSheet(Rule{}, 5)
		for range 50_000 {
			s.now += 50 * ms
			for range 4 {
				if random.Float64() < c.peers {
					s.peers(1, 1)
				} else {
					s.peers(1, 0)
				}
			}
			if random.Float64() < c.own {
				_, sick := s.fail()
				require.False(t, sick, "%+v", c)
			} else {
				s.good(1)
			}
		}
	}
}

// Only the gross test is off at a gross rate of 1, and it alone finds a sudden illness early in a long window of small faults.
func TestTheGrossTest(t *testing.T) {
	t.Parallel()
	calls := func(gross float64) int {
		s := newSheet(Rule{GrossRate: gross}, 5)
		for range 40 { // 2.6%, a little above what is tolerated
			s.good(37)
			s.peers(152, 0)
			s.fail()
		}
		for n := 1; ; n++ {
			s.peers(4, 0)
			if ev, sick := s.fail(); sick {
				require.Equal(t, gross < 1, ev.Criterion == "gross")
				return n
			}
		}
	}
	require.Less(t, calls(.25), 18)
	require.Greater(t, calls(1), calls(.25))
}

// Torn readings, in which failures or own results seem more than they can be, give no nonsense.
func TestTornReadings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) counts {
			return counts{rapid.Uint64Max(callsMask).Draw(t, name+" calls"), rapid.Uint64Max(1<<45).Draw(t, name+" fails")}
		}
		k := mark{own: draw("own mark"), all: draw("all mark")}
		n, f, N, F := k.since(draw("own"), draw("all"))
		require.True(t, 0 <= f && f <= n && 0 <= F && F <= N, "%d of %d, %d of %d", f, n, F, N)
	})
	// The number of calls wraps around at 2^40, which no difference shows.
	n, f := counts{5, 3}.since(counts{callsMask - 4, 1})
	require.Equal(t, []int64{10, 2}, []int64{n, f})
	n, f = counts{5, 3}.since(counts{7, 2})
	require.Equal(t, []int64{0, 0}, []int64{n, f}, "a mark that is a little ahead")
}

// The totals count calls under way apart from results, up to the ends of both.
func TestTotals(t *testing.T) {
	t.Parallel()
	var s totals
	s.word.Store(callsMask << flightBits)
	for range 1000 {
		s.begin()
	}
	require.EqualValues(t, 1000, s.inFlight())
	require.Equal(t, uint64(callsMask), s.calls())
	s.end()
	require.EqualValues(t, 999, s.inFlight())
	require.Zero(t, s.calls(), "wrapped around")
	s.drop()
	require.EqualValues(t, 998, s.inFlight())
	require.Zero(t, s.calls())
}
