package sentinel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
	"github.com/cordon-go/cordon/stat"
)

// engineOf returns an engine with the rules of a document, and its clock.
func engineOf(t *testing.T, kind sentinel.Kind, text string) (*cordon.Engine, *clock.Manual) {
	t.Helper()
	doc, err := sentinel.Decode(kind, "doc", []byte(text))
	require.NoError(t, err)
	require.Empty(t, doc.Problems.Faults())
	manual := clock.NewManual()
	eng, err := cordon.New(cordon.WithRules(doc.Rules()), cordon.WithClock(manual))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	return eng, manual
}

// passes counts how many of n calls pass at once.
func passes(t *testing.T, eng *cordon.Engine, resource, origin string, n int) int {
	t.Helper()
	passed := 0
	for range n {
		ent, err := eng.Enter(t.Context(), cordon.Request{Resource: resource, Origin: origin})
		if err == nil {
			passed++
			ent.End(cordon.Success)
		} else {
			require.ErrorIs(t, err, cordon.ErrBlocked)
		}
	}
	return passed
}

// TestRates: limits hold per matched resource (faults #8), in any second whatever its phase (faults #6), and for fractions (faults #13).
func TestRates(t *testing.T) {
	t.Parallel()
	eng, now := engineOf(t, sentinel.Flow, `[{"resource":"/api/.*","regex":true,"count":2},{"resource":"five","count":5},{"resource":"half","count":0.5}]`)
	require.Equal(t, 2, passes(t, eng, "/api/a", "", 50))
	require.Equal(t, 2, passes(t, eng, "/api/b", "", 50))
	require.Equal(t, 50, passes(t, eng, "/x/api/b", "", 50))
	now.Advance(499 * time.Millisecond)
	require.Equal(t, 5, passes(t, eng, "five", "", 50))
	now.Advance(501 * time.Millisecond)
	require.Equal(t, 0, passes(t, eng, "five", "", 50))
	require.Equal(t, 1, passes(t, eng, "half", "", 50))
	now.Advance(1999 * time.Millisecond)
	require.Equal(t, 0, passes(t, eng, "half", "", 50))
	now.Advance(time.Millisecond)
	require.Equal(t, 1, passes(t, eng, "half", "", 50))

	eng, _ = engineOf(t, sentinel.Flow, `[{"resource":"/api/","regex":true,"threshold":2}]`)
	require.Equal(t, 2, passes(t, eng, "/api/a", "", 50))
	require.Equal(t, 2, passes(t, eng, "/v1/api/a", "", 50)) // found anywhere, as sentinel-golang does
	require.Equal(t, 50, passes(t, eng, "/v1", "", 50))
}

// TestBothApply: in Sentinel a rule with an expression applies besides those that name the resource, and the one that wins is the lower. That is said in the
// native rules (faults #9), so that it is neither silent nor lost: without it callers that the named rule is not for would have no limit at all.
func TestBothApply(t *testing.T) {
	t.Parallel()
	eng, _ := engineOf(t, sentinel.Flow, `[{"resource":"/a.*","regex":true,"count":10},{"resource":"/ab","count":100,"limitApp":"web"}]`)
	require.True(t, eng.Rules().Flow[0].Also)
	require.Equal(t, 10, passes(t, eng, "/ab", "web", 50))
	eng, _ = engineOf(t, sentinel.Flow, `[{"resource":"/a.*","regex":true,"count":10},{"resource":"/ab","count":1,"limitApp":"web"}]`)
	require.Equal(t, 1, passes(t, eng, "/ab", "web", 50))
	require.Equal(t, 9, passes(t, eng, "/ab", "app", 50))
}

// TestRatios: Java opens above its ratio and at 1, Go at it (faults #32).
func TestRatios(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		element      string
		failed, good int
		opens        bool
	}{
		{`{"resource":"r","grade":1,"count":1,"timeWindow":1,"minRequestAmount":10}`, 10, 0, true},
		{`{"resource":"r","grade":1,"count":1,"timeWindow":1,"minRequestAmount":10}`, 9, 1, false},
		{`{"resource":"r","grade":1,"count":0.3,"timeWindow":1,"minRequestAmount":10}`, 3, 7, false},
		{`{"resource":"r","grade":1,"count":0.3,"timeWindow":1,"minRequestAmount":10}`, 4, 6, true},
		{`{"resource":"r","grade":1,"count":0,"timeWindow":1,"minRequestAmount":10}`, 0, 10, false},
		{`{"resource":"r","grade":1,"count":0,"timeWindow":1,"minRequestAmount":10}`, 1, 9, true},
		{`{"resource":"r","grade":2,"count":2,"timeWindow":1,"minRequestAmount":1}`, 2, 0, false},
		{`{"resource":"r","grade":2,"count":2,"timeWindow":1,"minRequestAmount":1}`, 3, 0, true},
		{`{"resource":"r","grade":2,"count":2,"timeWindow":1,"minRequestAmount":5}`, 4, 0, false},
		{`{"resource":"r","strategy":1,"threshold":0.3,"retryTimeoutMs":1000,"statIntervalMs":1000,"minRequestAmount":10}`, 3, 7, true},
		{`{"resource":"r","strategy":1,"threshold":0.3,"retryTimeoutMs":1000,"statIntervalMs":1000,"minRequestAmount":10}`, 2, 8, false},
		{`{"resource":"r","strategy":2,"threshold":2,"retryTimeoutMs":1000,"statIntervalMs":1000}`, 2, 0, true},
		{`{"resource":"r","strategy":2,"threshold":2,"retryTimeoutMs":1000,"statIntervalMs":1000}`, 1, 9, false},
	} {
		e := one(t, sentinel.Breaker, test.element)
		require.Empty(t, e.Problems)
		b, err := breaker.New(e.Rules.Breaker[0], 0, nil)
		require.NoError(t, err)
		for i := range test.good + test.failed {
			outcome := stat.Success
			if i >= test.good {
				outcome = stat.Failure // last, so that the ratio is the highest at the end
			}
			p, _, ok := b.Acquire(time.Millisecond)
			require.True(t, ok, test.element)
			b.Done(time.Millisecond, p, outcome, 0)
		}
		require.Equal(t, test.opens, b.State() == breaker.Open, test.element)
	}
}

// TestSlowRatio: all calls slow at a ratio of 1 opens in both dialects (faults #32).
func TestSlowRatio(t *testing.T) {
	t.Parallel()
	for _, element := range []string{
		`{"resource":"r","grade":0,"count":100,"timeWindow":1,"minRequestAmount":10}`,
		`{"resource":"r","strategy":0,"threshold":1,"maxAllowedRtMs":100,"retryTimeoutMs":1000,"statIntervalMs":1000,"minRequestAmount":10}`,
	} {
		for latency, opens := range map[time.Duration]bool{100 * time.Millisecond: false, 101 * time.Millisecond: true} {
			b, err := breaker.New(one(t, sentinel.Breaker, element).Rules.Breaker[0], 0, nil)
			require.NoError(t, err)
			for range 10 {
				p, _, ok := b.Acquire(time.Millisecond)
				require.True(t, ok)
				b.Done(time.Millisecond, p, stat.Success, latency)
			}
			require.Equal(t, opens, b.State() == breaker.Open, element)
		}
	}
}

// TestBadRegexHurtsNobody: a bad expression is refused when it is loaded, and the other rules go on (faults #94).
func TestBadRegexHurtsNobody(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[{"resource":"a(","regex":true,"count":1},{"resource":"b","count":1}]`,
		`[{"resource":"a(","regex":true,"threshold":1},{"resource":"b","threshold":1}]`,
	} {
		doc, err := sentinel.Decode(sentinel.Flow, "doc", []byte(text))
		require.NoError(t, err)
		require.Len(t, doc.Problems.Faults(), 1)
		require.Equal(t, rule.Name("b"), doc.Rules().Flow[0].Resource)
	}
}

// TestColdAndLow: a warm-up to a low limit lets something pass early, and reaches its limit (faults #14).
func TestColdAndLow(t *testing.T) {
	t.Parallel()
	for _, element := range []string{
		`{"resource":"r","count":2,"controlBehavior":1,"warmUpPeriodSec":10}`,
		`{"resource":"r","threshold":2,"tokenCalculateStrategy":1,"warmUpPeriodSec":10}`,
	} {
		eng, now := engineOf(t, sentinel.Flow, "["+element+"]")
		early, late := 0, 0
		for at := time.Duration(0); at < time.Minute; at += 5 * time.Millisecond { // 200 calls a second
			passed := passes(t, eng, "r", "", 1)
			if at < 10*time.Second {
				early += passed
			}
			if at >= 50*time.Second {
				late += passed
			}
			now.Advance(5 * time.Millisecond)
		}
		require.Positive(t, early)
		require.Equal(t, 20, late, element)
	}
}

// TestFastPace: distances are not rounded to milliseconds (faults #18).
func TestFastPace(t *testing.T) {
	t.Parallel()
	eng, now := engineOf(t, sentinel.Flow, `[{"resource":"r","threshold":1001,"controlBehavior":1}]`)
	passed := 0
	for range 100_000 { // 50,000 calls a second, for two
		passed += passes(t, eng, "r", "", 1)
		now.Advance(20 * time.Microsecond)
	}
	require.InDelta(t, 2002, passed, 40) // a call comes up to 20 µs after its turn, which is lost: at most 2 %
	require.LessOrEqual(t, passed, 2003)
}
