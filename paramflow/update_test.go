package paramflow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/rule"
)

func mustUpdate(t require.TestingT, l *Limiter, r Rule, now time.Duration) {
	kept, err := l.Update(r, now)
	require.NoError(t, err)
	require.True(t, kept)
}

// faults #27: a value limited to 1 per hour, the rule edited 20 times at one instant: 1 passes, whatever is edited.
func TestEditsAtOneInstant(t *testing.T) {
	t.Parallel()
	base := Rule{Limit: 1, Per: time.Hour, Burst: 1}
	for name, edit := range map[string]func(r *Rule, i int){
		"values":          func(r *Rule, i int) { r.Values = []int{0, minValues, 100_000}[i%3] },
		"limit":           func(r *Rule, i int) { r.Limit = float64(1 + i%3) },
		"limit to 0":      func(r *Rule, i int) { r.Limit = float64(i % 2) },
		"per":             func(r *Rule, i int) { r.Per = time.Hour / time.Duration(1+i%2) },
		"mode":            func(r *Rule, i int) { r.Mode, r.Burst = Mode(i%2), 1-i%2 },
		"redact":          func(r *Rule, i int) { r.Redact = i%2 == 0 },
		"another's limit": func(r *Rule, i int) { r.Overrides = []Override{{Value: "b", Limit: float64(i)}} },
		"its own limit":   func(r *Rule, i int) { r.Overrides = []Override{{Value: "a", Limit: float64(i%3 + 1), Burst: 1}} },
		"its own limit, to 0": func(r *Rule, i int) {
			r.Overrides = []Override{{Value: "a", Limit: float64(i % 2), Burst: 1}}
		},
		"named or not": func(r *Rule, i int) {
			r.Overrides = []Override{{Value: "a", Limit: 2, Burst: 1}, {Value: "c", Limit: 1}}[i%2:]
		},
		"pattern or not": func(r *Rule, i int) {
			r.Overrides = []Override{{Wildcard: "*a", Limit: 2, Burst: 1}, {Value: "c", Limit: 1}}[i%2:]
		},
		"name or pattern": func(r *Rule, i int) {
			r.Overrides = []Override{{Regex: "a|x", Limit: 3, Burst: 1}, {Value: "a", Limit: 1, Burst: 1}}[i%2 : i%2+1]
		},
		"for it or not": func(r *Rule, i int) {
			r.Only = []rule.Match{{}, rule.Name("a"), rule.Wildcard("a*")}[i%3]
		},
		"pattern's order": func(r *Rule, i int) {
			r.Overrides = []Override{{Regex: "a|x", Limit: 3, Burst: 1}, {Wildcard: "*", Limit: 1, Burst: 1}}
			if i%2 == 0 {
				r.Overrides[0], r.Overrides[1] = r.Overrides[1], r.Overrides[0]
			}
		},
	} {
		for _, crowded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, crowded %v", name, crowded), func(t *testing.T) {
				t.Parallel()
				const now = time.Minute
				start := base
				if crowded {
					start.Values = minValues
				}
				l := newTestLimiter(t, start, 0)
				if crowded {
					crowd(l, now, 0, 200)
				}
				passed := passes(l, now, "a", 3)
				for i := range 20 {
					r := start
					edit(&r, i)
					mustUpdate(t, l, r, now)
					passed += passes(l, now, "a", 3)
				}
				require.LessOrEqual(t, passed, 1)
				if !crowded {
					require.Equal(t, 1, passed)
					mustUpdate(t, l, base, now)
					require.Equal(t, 1, passes(l, now+2*time.Hour, "a", 3))
				}
			})
		}
	}
}

// Whatever is edited how often: of one burst, or at one instant of bursts of several sizes, no more passes than the most generous of the rules allows.
func TestUpdateModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bursts, pauses := []int{1, 8}, []int{0}
		if rapid.Bool().Draw(t, "one burst") {
			bursts, pauses = []int{8}, []int{0, 0, 0, 0, 0, 50, 300}
		}
		draw := func() (r Rule) {
			r.Limit, r.Burst = float64(rapid.IntRange(1, 2).Draw(t, "limit")), rapid.SampledFrom(bursts).Draw(t, "burst")
			if len(bursts) > 1 && rapid.IntRange(0, 9).Draw(t, "paced") == 0 {
				r.Mode, r.Burst = Pace, 0
			}
			r.Values = rapid.SampledFrom([]int{0, minValues, 1000}).Draw(t, "values")
			for _, o := range []Override{{Value: "user-1"}, {Value: "user-2"}, {Wildcard: "user-2*"}, {Regex: "user-[123]"}, {Wildcard: "*"}} {
				if rapid.IntRange(0, 2).Draw(t, "override") == 0 {
					o.Limit, o.Burst = float64(rapid.IntRange(0, 2).Draw(t, "own limit")), rapid.SampledFrom(bursts).Draw(t, "own burst")
					if r.Mode == Pace {
						o.Burst = 0
					}
					r.Overrides = append(r.Overrides, o)
				}
			}
			return r
		}
		l := newTestLimiter(t, draw(), 0)
		var now time.Duration
		admitted := make(map[int][]admission)
		for range rapid.IntRange(1, 20).Draw(t, "edits") {
			for range rapid.IntRange(0, 20).Draw(t, "calls") {
				now += ms(rapid.SampledFrom(pauses).Draw(t, "pause"))
				v := rapid.IntRange(0, 3).Draw(t, "value")
				if rapid.IntRange(0, 30).Draw(t, "crowd") == 0 {
					crowd(l, now, int(now), 300)
				}
				if _, _, _, ok := l.Acquire(now, value(user(v)), 1); ok {
					admitted[v] = append(admitted[v], admission{now, 1})
				}
			}
			mustUpdate(t, l, draw(), now)
		}
		for _, list := range admitted {
			requirePromise(t, list, 8, 2, time.Second)
		}
	})
}

func TestUpdateKeepsWhatIsLeft(t *testing.T) {
	t.Parallel()
	left := func(from, to Rule, used int) int {
		l := newTestLimiter(t, from, 0)
		require.Equal(t, used, passes(l, time.Second, "a", used))
		mustUpdate(t, l, to, time.Second)
		return passes(l, time.Second, "a", 1000)
	}
	own := func(limit float64, burst int) Rule {
		return Rule{Limit: 1, Burst: 1, Overrides: []Override{{Value: "a", Limit: limit, Burst: burst}}}
	}
	pattern := func(limit float64, burst int) Rule {
		return Rule{Limit: 1, Burst: 1, Overrides: []Override{{Wildcard: "a", Limit: limit, Burst: burst}}}
	}
	ten := Rule{Limit: 10}
	for _, to := range []func(float64, int) Rule{own, pattern, func(limit float64, burst int) Rule { return Rule{Limit: limit, Burst: burst} }} {
		require.Equal(t, 6, left(ten, to(10, 10), 4))
		require.Equal(t, 6, left(ten, to(100, 100), 4), "more by and by")
		require.Equal(t, 6, left(ten, to(1, 10), 4), "the rate is another one, what is left is not")
		require.Equal(t, 0, left(ten, to(10, 3), 4), "spent of the smaller burst")
		require.Equal(t, 1, left(ten, to(10, 3), 2))
		require.Equal(t, 0, left(ten, to(1, 1), 10))
		require.Equal(t, 0, left(ten, to(0, 1), 1))
		require.Equal(t, 6, left(to(10, 10), ten, 4))
	}
	// Nobody else is any worse off for a slow pattern.
	l := newTestLimiter(t, ten, 0)
	require.Equal(t, 10, passes(l, 0, "b", 11))
	mustUpdate(t, l, Rule{Limit: 10, Overrides: []Override{{Wildcard: "slow-*", Limit: 1.0 / 3600, Burst: 1}}}, 0)
	require.Equal(t, 10, passes(l, time.Second, "b", 11))
}

// Turns that were promised keep their time, and the next is a distance of the new rate behind.
func TestUpdateKeepsTurns(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Mode: Pace, Limit: 10, MaxWait: time.Minute}, 0)
	for range 4 { // at 0, .1, .2, .3
		l.Acquire(0, value("a"), 1)
	}
	mustUpdate(t, l, Rule{Mode: Pace, Limit: 2, MaxWait: time.Minute}, 0)
	_, wait, _, ok := l.Acquire(0, value("a"), 1)
	require.True(t, ok)
	require.Equal(t, ms(800), wait)
}

func TestUpdateFromAndToConcurrencyBeginsAnew(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 1, Per: time.Hour}, 0)
	old, _, _, ok := l.Acquire(0, value("a"), 1)
	require.True(t, ok)
	kept, err := l.Update(Rule{Mode: Concurrency, Limit: 1}, 0)
	require.NoError(t, err)
	require.False(t, kept)
	p, _, _, ok := l.Acquire(0, value("a"), 1)
	require.True(t, ok)
	l.Cancel(0, old)
	l.Release(old)
	require.Zero(t, passes(l, 0, "a", 1))
	kept, err = l.Update(Rule{Limit: 1, Per: time.Hour}, 0)
	require.NoError(t, err)
	require.False(t, kept)
	require.Equal(t, 1, passes(l, 0, "a", 3))
	kept, err = l.Update(Rule{Mode: Concurrency, Limit: 1}, 0)
	require.NoError(t, err)
	require.False(t, kept)
	q, _, _, ok := l.Acquire(0, value("a"), 1)
	require.True(t, ok)
	l.Release(p) // of before
	require.Zero(t, passes(l, 0, "a", 1))
	l.Release(q)
	require.True(t, l.Idle(0))
}

// Between memories of any sizes all values keep what counts of theirs, those that share too.
func TestResize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := []int{minValues, 1000, 5000, 100_000}
		l := newTestLimiter(t, Rule{Limit: 1, Burst: 1, Values: rapid.SampledFrom(sizes).Draw(t, "values")}, 0)
		n := rapid.IntRange(0, 3000).Draw(t, "used")
		for i := range n {
			l.Acquire(0, other(i), 1)
		}
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			mustUpdate(t, l, Rule{Limit: 1, Burst: 1, Values: rapid.SampledFrom(sizes).Draw(t, "new values")}, 0)
			for i := range n {
				_, _, _, ok := l.Acquire(0, other(i), 1)
				require.False(t, ok, i)
			}
		}
	})
}

// A thousand patterns: each value gets the limit of the first that fits.
func TestPatterns(t *testing.T) {
	t.Parallel()
	r := Rule{Limit: 1}
	for i := range 995 {
		r.Overrides = append(r.Overrides, Override{Wildcard: fmt.Sprintf("tenant-%d-*", i), Limit: float64(i + 2)})
	}
	r.Overrides = append(r.Overrides, Override{Regex: "tenant-[0-9]*5-x", Limit: 5000}, Override{Regex: "(?i)VIP", Limit: 6000},
		Override{Wildcard: "?", Limit: 7000}, Override{Regex: "^$", Limit: 8000}, Override{Regex: "12[0-9]|x{2,3}", Limit: 9000})
	l := newTestLimiter(t, r, 0)
	for text, want := range map[string]float64{
		"tenant-7-x": 9, "tenant-994-": 996, "tenant-1005-x": 5000, "vIp": 6000, "ß": 7000, "7": 7000, "": 8000, "125": 9000, "xx": 9000, "xxxx": 1, "1250": 1, "a vip": 1,
		"tenant-15-x": 17, strings.Repeat("x", 5000): 1,
	} {
		require.Equal(t, want, l.Limit(value(text)), text)
		for range 2 { // looked up, and remembered
			s, _ := l.stripe(value(text).Hash(l.seed))
			require.Equal(t, want, l.plan.classes[s.class(l.plan, value(text), value(text).Hash(l.seed))].limit, text)
		}
	}
}

// A value whose own cell is still in the measure of a pattern that is gone is not forgotten when a smaller memory makes it share.
func TestResizeWithPatternsGone(t *testing.T) {
	t.Parallel()
	pattern := func(wildcard string, limit float64) []Override {
		return []Override{{Wildcard: wildcard, Limit: limit, Burst: 8}}
	}
	l := newTestLimiter(t, Rule{Limit: 2, Burst: 8, Values: 1000, Overrides: pattern("x*", 2)}, 0)
	crowd(l, 0, 0, 600)
	var used []string
	for i := range 200 {
		if v := user(i); passes(l, 0, v, 8) == 8 {
			used = append(used, v)
		}
	}
	mustUpdate(t, l, Rule{Limit: 1, Burst: 8, Values: 1000, Overrides: pattern("y*", 3)}, 0)
	mustUpdate(t, l, Rule{Limit: 1, Burst: 8, Values: minValues, Overrides: pattern("y*", 3)}, 0)
	for _, v := range used {
		require.Zero(t, passes(l, 0, v, 1), v)
	}
	require.NotEmpty(t, used)
}

// What a value spent is not forgotten while nothing is allowed to it, whatever it may do before and after.
func TestUpdateThroughNothing(t *testing.T) {
	t.Parallel()
	none := func(o Override) Rule {
		o.Burst = 8
		return Rule{Limit: 1, Burst: 8, Overrides: []Override{o}}
	}
	for _, by := range []Override{{Value: "a"}, {Wildcard: "*"}, {Regex: "a"}} {
		from := none(by)
		from.Overrides = append(from.Overrides, Override{Value: "b", Limit: 2, Burst: 8})
		if by.Value != "" {
			from.Overrides = from.Overrides[1:]
		}
		l := newTestLimiter(t, from, 0)
		require.Equal(t, 3, passes(l, 0, "b", 3))
		mustUpdate(t, l, none(by), 0)
		mustUpdate(t, l, Rule{Limit: 1, Burst: 8}, time.Second)
		require.LessOrEqual(t, passes(l, time.Second, "b", 9), 7, "of three at most two are earned back")
	}
}
