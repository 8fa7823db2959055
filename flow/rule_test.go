package flow

import (
	"encoding"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
)

var (
	_ rule.Rule[Rule]            = Rule{}
	_ rule.Rule[ConcurrencyRule] = ConcurrencyRule{}
	_ encoding.TextMarshaler     = Mode(0)
	_ encoding.TextUnmarshaler   = (*Mode)(nil)
)

// fill sets a field of a rule to some value that is not zero.
func fill(t *testing.T, v reflect.Value) {
	switch v.Interface().(type) {
	case rule.Match:
		v.Set(reflect.ValueOf(rule.Name("x")))
	case Memory:
		v.Set(reflect.ValueOf(Memory{HighLimit: 1}))
	default:
		switch v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Float64:
			v.SetFloat(1)
		case reflect.Int, reflect.Int64:
			v.SetInt(1)
		case reflect.Uint8:
			v.SetUint(1)
		default:
			t.Fatalf("a field of type %v: teach the test about it", v.Type())
		}
	}
}

// TestEqualSeesEveryField fails when a field is added that Equal does not compare, or that documents cannot name.
func TestEqualSeesEveryField(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[Rule]().NumField() {
		var r Rule
		fill(t, reflect.ValueOf(&r).Elem().Field(i))
		name := reflect.TypeFor[Rule]().Field(i)
		require.False(t, r.Equal(Rule{}), name.Name)
		require.True(t, r.Equal(r))
		require.NotEmpty(t, name.Tag.Get("rule"), name.Name)
	}
	for i := range reflect.TypeFor[ConcurrencyRule]().NumField() {
		var r ConcurrencyRule
		fill(t, reflect.ValueOf(&r).Elem().Field(i))
		name := reflect.TypeFor[ConcurrencyRule]().Field(i)
		require.False(t, r.Equal(ConcurrencyRule{}), name.Name)
		require.True(t, r.Equal(r))
		require.NotEmpty(t, name.Tag.Get("rule"), name.Name)
	}
}

// TestNumbersKeepsWhatALimiterUses fails when a field is added and it is not said whether a Limiter looks at it.
func TestNumbersKeepsWhatALimiterUses(t *testing.T) {
	t.Parallel()
	ignored := map[string]bool{"ID": true, "Resource": true, "Origin": true, "Related": true, "Under": true, "Also": true, "Shared": true, "Shadow": true}
	for i := range reflect.TypeFor[Rule]().NumField() {
		var r Rule
		fill(t, reflect.ValueOf(&r).Elem().Field(i))
		name := reflect.TypeFor[Rule]().Field(i).Name
		require.Equal(t, ignored[name], r.numbers() == Rule{}, name)
	}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	want := rule.Meta{ID: "a", Resource: rule.Name("r"), Also: true, Shared: true, Shadow: true}
	require.Equal(t, want, Rule{ID: "a", Resource: rule.Name("r"), Also: true, Shared: true, Shadow: true}.Meta())
	require.Equal(t, want, ConcurrencyRule{ID: "a", Resource: rule.Name("r"), Also: true, Shared: true, Shadow: true}.Meta())
	require.Equal(t, Rule{ID: "b", Limit: 1}, Rule{ID: "a", Limit: 1}.WithID("b"))
	require.Equal(t, ConcurrencyRule{ID: "b", Limit: 1}, ConcurrencyRule{ID: "a", Limit: 1}.WithID("b"))
}

func TestModeText(t *testing.T) {
	t.Parallel()
	for i, name := range Mode(0).Values() {
		text, err := Mode(i).MarshalText()
		require.NoError(t, err)
		require.Equal(t, name, string(text))
		require.Equal(t, name, Mode(i).String())
		var m Mode
		require.NoError(t, m.UnmarshalText(text))
		require.Equal(t, Mode(i), m)
	}
	m := Pace
	require.ErrorContains(t, m.UnmarshalText([]byte("Reject")), `"Reject"`)
	require.Equal(t, Pace, m)
	_, err := Mode(77).MarshalText()
	require.Error(t, err)
	require.Equal(t, "Mode(77)", Mode(77).String())
}

// problems returns the fields of the faults, and of the warnings with an exclamation mark.
func problems(ps []rule.Problem) string {
	var fields []string
	for _, p := range ps {
		if p.Warning {
			p.Field += "!"
		}
		fields = append(fields, p.Field)
	}
	return strings.Join(fields, " ")
}

func TestRuleProblems(t *testing.T) {
	t.Parallel()
	mem := Memory{LowLimit: 10, HighLimit: 1, LowMark: 0.5, HighMark: 0.9}
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{}, ""},
		{Rule{Limit: 1e7}, ""},
		{Rule{Limit: 1e7 * 86400, Per: 24 * time.Hour}, ""},
		{Rule{Limit: 1e7 + 1}, "limit"},
		{Rule{Limit: 10_001, Per: time.Millisecond}, "limit"},
		{Rule{Limit: -5}, "limit"}, // faults #64
		{Rule{Limit: math.NaN()}, "limit"},
		{Rule{Limit: math.Inf(1)}, "limit"},
		{Rule{Limit: 1e-9}, "limit"},
		{Rule{Limit: 1.0 / 86400 / 30}, ""},
		{Rule{Limit: 1, Per: time.Microsecond}, "per"},
		{Rule{Limit: 1, Per: -time.Second}, "per"},
		{Rule{Limit: 1, Per: 25 * time.Hour}, "per"},
		{Rule{Limit: 1, Mode: 77}, "mode"},
		{Rule{Limit: 1, Burst: 3, MaxWait: 1, WarmUp: 1, ColdFactor: 3}, "burst maxWait warmUp coldFactor"},
		{Rule{Limit: 1, Mode: Smooth}, ""},
		{Rule{Limit: 1, Mode: Smooth, Burst: -1}, "burst"},
		{Rule{Limit: 1, Mode: Smooth, Burst: 10_000_001}, "burst"},
		{Rule{Limit: 1, Mode: Smooth, Burst: 3_000_000}, "burst"},
		{Rule{Limit: 1, Mode: Smooth, MaxWait: time.Second}, "maxWait"},
		{Rule{Limit: 1, Mode: Pace, MaxWait: time.Second}, ""},
		{Rule{Limit: 1, Mode: Pace}, "maxWait!"},
		{Rule{Limit: 1, Mode: Pace, MaxWait: -1}, "maxWait"},
		{Rule{Limit: 1, Mode: Pace, MaxWait: 2 * time.Hour}, "maxWait"},
		{Rule{Limit: 1, Mode: Pace, MaxWait: 1, WarmUp: time.Second}, "warmUp"},
		{Rule{Limit: 1, Mode: WarmUp}, ""},
		{Rule{Limit: 1, Mode: WarmUp, ColdFactor: 1}, "coldFactor"}, // faults #15
		{Rule{Limit: 1, Mode: WarmUp, ColdFactor: 0.5}, "coldFactor"},
		{Rule{Limit: 1, Mode: WarmUp, ColdFactor: 101}, "coldFactor"},
		{Rule{Limit: 1, Mode: WarmUp, ColdFactor: math.NaN()}, "coldFactor"},
		{Rule{Limit: 1, Mode: WarmUp, WarmUp: time.Microsecond}, "warmUp"}, // faults #17
		{Rule{Limit: 1, Mode: WarmUpPace, MaxWait: 1, WarmUp: 2 * time.Hour}, "warmUp"},
		{Rule{Limit: 1, Related: "b"}, ""},
		{Rule{Limit: 1, Related: "a"}, "related"},
		{Rule{Limit: 1, Related: "b", Mode: Smooth}, "related"},
		{Rule{Memory: mem}, ""},
		{Rule{Limit: 1, Memory: mem}, "limit!"},
		{Rule{Mode: Smooth, Memory: mem}, "memory"},
		{Rule{Related: "b", Memory: mem}, "memory"},
		{Rule{Memory: Memory{LowLimit: 10}}, "memory.highLimit memory.lowMark"},
		{Rule{Memory: Memory{LowLimit: 10, HighLimit: 10, LowMark: 1000, HighMark: 1000}}, "memory.highLimit memory.lowMark"},
		{Rule{Memory: Memory{LowLimit: 2e7, HighLimit: 1, LowMark: 0.5, HighMark: 1e9}}, "memory.lowLimit memory.highMark"},
		{Rule{Memory: Memory{LowLimit: 10, HighLimit: math.NaN(), LowMark: math.NaN(), HighMark: 1}}, "memory.highLimit memory.lowMark"},
		{Rule{Memory: Memory{LowLimit: 10, HighLimit: 1, LowMark: 10, HighMark: math.Inf(1)}}, "memory.lowMark"},
	} {
		c.rule.Resource = rule.Name("a")
		ps := c.rule.Problems()
		require.Equal(t, c.want, problems(ps), "%+v", c.rule)
		for _, p := range ps {
			require.NotEmpty(t, p.Message)
			require.NotEmpty(t, p.Want)
		}
		l, err := NewLimiter(c.rule, 0)
		if faults := rule.Problems(ps).Faults(); len(faults) > 0 {
			require.ErrorContains(t, err, faults[0].Field)
			require.Nil(t, l)
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, "resource", problems(Rule{Limit: 1}.Problems()))
	require.Equal(t, "resource", problems(Rule{Limit: 1, Resource: rule.Regex("(")}.Problems()))
}

func TestConcurrencyRuleProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule ConcurrencyRule
		want string
	}{
		{ConcurrencyRule{}, ""},
		{ConcurrencyRule{Limit: 10_000_000, MaxWait: time.Hour, Queue: 100_000}, ""},
		{ConcurrencyRule{Limit: -1}, "limit"},
		{ConcurrencyRule{Limit: 10_000_001}, "limit"},
		{ConcurrencyRule{MaxWait: -1}, "maxWait"},
		{ConcurrencyRule{MaxWait: time.Hour + 1}, "maxWait"},
		{ConcurrencyRule{Queue: 5}, "queue"},
		{ConcurrencyRule{MaxWait: 1, Queue: -5}, "queue"},
		{ConcurrencyRule{MaxWait: 1, Queue: 100_001}, "queue"},
	} {
		c.rule.Resource = rule.Name("a")
		require.Equal(t, c.want, problems(c.rule.Problems()), "%+v", c.rule)
	}
	require.Equal(t, "resource", problems(ConcurrencyRule{}.Problems()))
}

func TestRuleString(t *testing.T) {
	t.Parallel()
	orders := rule.Name("orders.Create")
	for _, c := range []struct{ got, want string }{
		{Rule{Resource: orders, Limit: 100}.String(), "orders.Create: at most 100 calls in any 1s, the rest is refused"},
		{Rule{Limit: 0.5}.String(), "at most 1 call in any 2s, the rest is refused"},
		{Rule{Resource: orders, Limit: 12.5, Origin: "web", Shadow: true}.String(), "orders.Create for web (in shadow): at most 25 calls in any 2s, the rest is refused"},
		{Rule{Resource: orders, Origin: "other", Under: "/api"}.String(), "orders.Create for each other caller under /api: no calls, all are refused"},
		{Rule{Limit: 10, Mode: Smooth, Burst: 5}.String(), "at most 10 calls per 1s with bursts of 5, the rest is refused"},
		{Rule{Limit: 10, Mode: Pace}.String(), "one call every 100ms, what comes earlier is refused"},
		{Rule{Limit: 10, Mode: Pace, MaxWait: time.Minute}.String(), "one call every 100ms, what would wait longer than 1m is refused"},
		{Rule{Limit: 30, Mode: WarmUp}.String(), "at most 30 calls in any 1s, the rest is refused, a third of that when cold, warming up in 10s"},
		{Rule{Limit: 10, Mode: WarmUpPace, MaxWait: time.Hour, ColdFactor: 2}.String(), "one call every 100ms, every 200ms when cold, warming up in 10s, what would wait longer than 1h is refused"},
		{Rule{Limit: 10, Resource: orders, Related: "orders.Delete"}.String(), "orders.Create: refused while orders.Delete passes more than 10 calls in 1s"},
		{Rule{Memory: Memory{LowLimit: 10, HighLimit: 1, LowMark: 0.5, HighMark: 0.9}}.String(), "at most 10 calls in any 1s up to 50% of memory in use, falling to 1 from 90% on, the rest is refused"},
		{ConcurrencyRule{Resource: orders, Limit: 20}.String(), "orders.Create: at most 20 at once, the rest is refused"},
		{ConcurrencyRule{Resource: orders, Limit: 20, MaxWait: 50 * time.Millisecond}.String(), "orders.Create: at most 20 at once, up to 100 more wait at most 50ms"},
		{ConcurrencyRule{}.String(), "no calls, all are refused"},
	} {
		require.Equal(t, c.want, c.got)
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit    float64
		per      time.Duration
		calls    int64
		interval time.Duration
	}{
		{0, time.Second, 0, time.Second},
		{1, time.Second, 1, time.Second},
		{0.5, time.Second, 1, 2 * time.Second},
		{12.5, time.Second, 25, 2 * time.Second},
		{0.1, time.Second, 1, 10 * time.Second},
		{33.3, time.Second, 333, 10 * time.Second},
		{1.0 / 3, time.Second, 1, 3 * time.Second},
		{0.7, time.Second, 1, 1428571429},
		{2.71828, time.Second, 3, 1103639066},
		{100.0 / 3, time.Second, 100, 3 * time.Second},
		{1.5, 24 * time.Hour, 3, 48 * time.Hour},
		{1e7 * 86400, 24 * time.Hour, 864_000_000_000, 24 * time.Hour},
	} {
		calls, interval := whole(c.limit, c.per)
		require.Equal(t, c.calls, calls, "%v per %v", c.limit, c.per)
		require.Equal(t, c.interval, interval, "%v per %v", c.limit, c.per)
		if c.limit > 0 {
			rate := float64(calls) / float64(interval) * float64(c.per)
			require.LessOrEqual(t, rate, c.limit*(1+exactWithin))
			require.Greater(t, rate, c.limit*(1-1e-6))
		}
	}
}
