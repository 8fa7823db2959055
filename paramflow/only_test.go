package paramflow

import (
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/rule"
)

// matches is what Only means, said with other means than its own.
func matches(m rule.Match, text string) bool {
	switch m.Kind() {
	case rule.ByName:
		return m.Pattern() == "" || m.Pattern() == text
	case rule.ByWildcard:
		ok, err := path.Match(m.Pattern(), text) // no text here has a slash
		return ok && err == nil
	case rule.ByRegex:
		return regexp.MustCompile("^(" + m.Pattern() + ")$").MatchString(text)
	}
	return true
}

func drawOnly(t *rapid.T) rule.Match {
	return rapid.SampledFrom([]rule.Match{
		{}, rule.Default(), rule.Name("user-1"), rule.Name("7"), rule.Wildcard("user-*"), rule.Wildcard("*2"), rule.Wildcard("*"), rule.Wildcard("?"), rule.Regex("user-[13]|7"), rule.Regex("[0-9]+"), rule.Regex("^$"),
	}).Draw(t, "only")
}

// A rule for some values does with those what the rule for all does, and nothing with the others, however it is edited meanwhile: they pass, hold nothing and are counted nowhere.
func TestOnlyModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{Limit: float64(rapid.IntRange(1, 3).Draw(t, "limit")), Mode: Mode(rapid.IntRange(0, 2).Draw(t, "mode"))}
		if r.Mode == Pace {
			r.MaxWait = time.Second
		}
		for _, o := range []Override{{Value: "user-1", Limit: 2}, {Value: "7", Limit: 1}, {Wildcard: "user-*", Limit: 4}, {Regex: "[0-9]*", Limit: 5}} {
			if rapid.Bool().Draw(t, "override") {
				r.Overrides = append(r.Overrides, o)
			}
		}
		restricted := r
		restricted.Only = drawOnly(t)
		l, all := newTestLimiter(t, restricted, 0), newTestLimiter(t, r, 0)
		type call struct{ permit, model Permit }
		var open []call
		var now time.Duration
		counted := int64(0)
		for range rapid.IntRange(1, 100).Draw(t, "calls") {
			now += ms(rapid.SampledFrom([]int{0, 0, 100, 700}).Draw(t, "pause"))
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				restricted.Only = drawOnly(t)
				mustUpdate(t, l, restricted, now)
				r.Redact = !r.Redact // an edit of the other, so that permits of before are worth as little there
				mustUpdate(t, all, r, now)
				if r.Mode != Concurrency {
					open = nil
				}
				continue
			case 1:
				if len(open) > 0 {
					last := open[len(open)-1]
					open = open[:len(open)-1]
					l.Cancel(now, last.permit)
					all.Cancel(now, last.model)
					counted--
				}
				continue
			}
			text := rapid.SampledFrom([]string{"user-1", "user-2", "user-3", "7", "8", "x", "", strings.Repeat("z", 300)}).Draw(t, "value")
			v := value(text)
			p, wait, after, ok := l.Acquire(now, v, 1)
			if !matches(restricted.Only, v.String()) {
				require.True(t, ok)
				require.Zero(t, wait)
				require.Equal(t, Permit{}, p)
				continue
			}
			q, wantWait, wantAfter, want := all.Acquire(now, v, 1)
			require.Equal(t, want, ok, "%q at %v", text, now)
			require.Equal(t, wantWait, wait)
			require.Equal(t, wantAfter, after)
			if ok {
				require.NotEqual(t, Permit{}, p)
				open = append(open, call{p, q})
				counted++
			}
		}
		st, want := l.Status(now), all.Status(now)
		require.Equal(t, counted, st.Passed)
		require.Equal(t, want.Passed, st.Passed)
		require.Equal(t, want.Refused, st.Refused)
		require.Equal(t, want.InFlight, st.InFlight)
	})
}

// A value is the same however Only writes it, and one that is too long to be kept is known by its hash.
func TestOnlyIsCanonical(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Only: rule.Name("7")}, 0)
	seven, ok := extractor.Of(7.0)
	require.True(t, ok)
	_, _, _, ok = l.Acquire(0, seven, 1)
	require.False(t, ok)
	require.Equal(t, 1, passes(l, 0, "7.0", 1))
	long := strings.Repeat("x", 400)
	l = newTestLimiter(t, Rule{Only: rule.Name(long)}, 0)
	require.Zero(t, passes(l, 0, long, 1))
	require.Equal(t, 1, passes(l, 0, long+"x", 1))
}

// What stands for no value, and for those that were not looked at, cannot be told from what the rule is for.
func TestOnlyLeavesOutNoSubstitute(t *testing.T) {
	t.Parallel()
	for _, only := range []rule.Match{rule.Name("vip"), rule.Wildcard("v*"), rule.Regex("vip")} {
		l := newTestLimiter(t, Rule{Only: only, Limit: 1, Overrides: []Override{{Value: AbsentValue}}}, 0)
		require.Zero(t, passes(l, 0, AbsentValue, 3))
		require.Equal(t, 1, passes(l, 0, FurtherValue, 3))
		require.Equal(t, 1, passes(l, 0, "vip", 3))
		require.Equal(t, 3, passes(l, 0, "other", 3))
	}
}

// A value that is left out and asked for again has spent what it had; a place that was taken is given back even so.
func TestOnlyKeepsThePast(t *testing.T) {
	t.Parallel()
	for _, r := range []Rule{{Limit: 2, Per: time.Hour}, {Limit: 2, Per: time.Hour, Overrides: []Override{{Value: "a", Limit: 2}}}, {Mode: Concurrency, Limit: 2}} {
		l := newTestLimiter(t, r, 0)
		first, _, _, ok := l.Acquire(0, value("a"), 1)
		require.True(t, ok)
		without := r
		without.Only = rule.Name("b")
		mustUpdate(t, l, without, 0)
		require.Equal(t, 5, passes(l, 0, "a", 5))
		mustUpdate(t, l, r, 0)
		require.Equal(t, 1, passes(l, 0, "a", 5))
		if r.Mode == Concurrency {
			l.Release(first)
			require.EqualValues(t, 1, l.Status(0).InFlight)
		}
	}
}

func TestOnlyInDocuments(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]rule.Match{
		`only: vip`: rule.Name("vip"), `only: "7"`: rule.Name("7"), `only: {wildcard: "a*"}`: rule.Wildcard("a*"), `only: {regex: "a|b"}`: rule.Regex("a|b"), `only: {default: true}`: rule.Default(), `limit: 1`: {},
	} {
		n, err := rule.ParseYAML([]byte(document))
		require.NoError(t, err)
		var r Rule
		require.Empty(t, rule.Decode(n, &r, ""))
		require.Equal(t, want, r.Only, document)
	}
}
