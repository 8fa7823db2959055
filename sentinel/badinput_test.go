package sentinel_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// badSample is a good rule of a kind in a dialect, and members that make a bad rule of it.
type badSample struct {
	kind    sentinel.Kind
	dialect sentinel.Dialect
	good    string
	spoil   string
}

func (s badSample) bad() string { return replaced(s.good, s.spoil) }

// replaced returns an object with members in place of its own.
func replaced(object, members string) string {
	var fields map[string]json.RawMessage
	for _, text := range []string{object, "{" + members + "}"} {
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			panic(err)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s badSample) String() string { return fmt.Sprintf("%v of %v", s.kind, s.dialect) }

// document is a document of this sample's form.
func (s badSample) document(rules string) string {
	if s.dialect != sentinel.CRD {
		return rules
	}
	name := map[sentinel.Kind]string{
		sentinel.Flow: "FlowRules", sentinel.Breaker: "CircuitBreakerRules", sentinel.Isolation: "IsolationRules", sentinel.Param: "HotspotRules", sentinel.System: "SystemRules",
	}[s.kind]
	return `{"kind":"` + name + `","metadata":{"name":"x"},"spec":{"rules":` + rules + `},"apiVersion":"datasource.sentinel.io/v1alpha1"}`
}

// badSamples are those of all kinds in all the dialects that these have.
func badSamples() []badSample {
	return []badSample{
		{sentinel.Flow, sentinel.Java, `{"resource":"r","count":1,"grade":1,"controlBehavior":0,"warmUpPeriodSec":10}`, `"count":-5`},
		{sentinel.Flow, sentinel.Go, `{"resource":"r","threshold":1,"tokenCalculateStrategy":0}`, `"threshold":-5`},
		{sentinel.Flow, sentinel.CRD, goRate, `"threshold":-5`},
		{sentinel.Breaker, sentinel.Java, javaErrors, `"count":-5`},
		{sentinel.Breaker, sentinel.Go, goErrors, `"threshold":-5`},
		{sentinel.Breaker, sentinel.CRD, `{"resource":"r","strategy":"ErrorCount","threshold":50,"retryTimeoutMs":1000,"statIntervalMs":1000}`, `"threshold":-5`},
		{sentinel.Isolation, sentinel.Go, `{"resource":"r","metricType":0,"threshold":1}`, `"threshold":-5`},
		{sentinel.Isolation, sentinel.CRD, goIsolation, `"threshold":-5`},
		{sentinel.Param, sentinel.Java, javaParam, `"count":-5`},
		{sentinel.Param, sentinel.Go, goParam, `"threshold":-5`},
		{sentinel.Param, sentinel.CRD, `{"resource":"r","metricType":"QPS","paramIndex":0,"threshold":5,"durationInSec":1}`, `"threshold":-5`},
		{sentinel.System, sentinel.Java, `{"qps":1000}`, `"qps":"many"`},
		{sentinel.System, sentinel.Go, goSystem, `"triggerCount":-5`},
		{sentinel.System, sentinel.CRD, `{"metricType":"Load","triggerCount":2,"strategy":"BBR"}`, `"triggerCount":-5`},
		{sentinel.Authority, sentinel.Java, javaAuthority, `"strategy":77`},
		{sentinel.Gateway, sentinel.Java, `{"resource":"r","resourceMode":0,"count":3,"intervalSec":1}`, `"count":-5`},
		{sentinel.API, sentinel.Java, javaAPI, `"predicateItems":[{"pattern":"("  ,"matchStrategy":2}]`},
	}
}

// Every kind that is read has a sample in every dialect that it is read in.
func TestEverySupportedKindHasABadSample(t *testing.T) {
	t.Parallel()
	for kind := sentinel.Flow; kind.Supported(); kind++ {
		for _, dialect := range []sentinel.Dialect{sentinel.Java, sentinel.Go, sentinel.CRD} {
			i := slices.IndexFunc(badSamples(), func(s badSample) bool { return s.kind == kind && s.dialect == dialect })
			if i < 0 {
				_, err := sentinel.Decode(kind, "s", []byte("[]"), sentinel.WithDialect(dialect))
				require.Error(t, err, "%v of %v has no sample", kind, dialect)
				continue
			}
			s := badSamples()[i]
			doc, err := sentinel.Decode(kind, "s", []byte(s.document("["+s.good+"]")))
			require.NoError(t, err)
			require.Empty(t, doc.Problems, "%v", s)
			require.Equal(t, dialect, doc.Dialect, "%v", s)
		}
	}
}

// ruleSource is a source that delivers what a test sends.
type ruleSource chan datasource.Update

func (ruleSource) Name() string { return "s" }

func (s ruleSource) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case u := <-s:
			deliver(u)
		}
	}
}

// badInput gives an engine one bad document after the other, while a good one is in force.
type badInput struct {
	t      *testing.T
	sample badSample
	e      *cordon.Engine
	watch  *cordon.Watch
	src    ruleSource
	before cordon.Rules
	sent   int
}

// eachBadSample runs body for every sample, with the good document in force.
func eachBadSample(t *testing.T, body func(b *badInput)) {
	for _, sample := range badSamples() {
		t.Run(sample.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, err := cordon.New()
				require.NoError(t, err)
				defer e.Close()
				b := &badInput{t: t, sample: sample, e: e, src: make(ruleSource, 1)}
				b.src <- datasource.Update{Document: datasource.Document{Data: []byte(sample.document("[" + sample.good + "]"))}}
				b.watch, err = e.Watch(t.Context(), b.src, sentinel.Decoder(sample.kind))
				require.NoError(t, err)
				b.before = e.Rules()
				body(b)
			})
		})
	}
}

// offer sends a document, and holds it to its bound of memory: a value takes some hundred bytes and can be written in two, but there may be no more than two
// million of them.
func (b *badInput) offer(what, data string) rule.Report {
	b.t.Helper()
	b.sent++
	version := fmt.Sprint(b.sent)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.src <- datasource.Update{Document: datasource.Document{Data: []byte(data), Version: version}}
	time.Sleep(time.Minute)
	synctest.Wait()
	runtime.ReadMemStats(&after)
	require.LessOrEqual(b.t, after.TotalAlloc-before.TotalAlloc, 4<<20+min(300*uint64(len(data)), 2000<<20), "%s: memory for %d bytes", what, len(data))
	rep := b.watch.Report()
	require.Equal(b.t, version, rep.Version, "%s: it was not even judged", what)
	return rep
}

// refused requires that a document is refused as a whole: it changes nothing, and says why.
func (b *badInput) refused(what, data, want string) {
	b.t.Helper()
	rep := b.offer(what, data)
	require.False(b.t, rep.Applied, what)
	b.reported(what, rep, want)
}

// reported requires that the rules are what they were, and that a fault says why, and where.
func (b *badInput) reported(what string, rep rule.Report, want string) {
	b.t.Helper()
	require.Equal(b.t, b.before, b.e.Rules(), what)
	faults := rep.Problems.Faults()
	require.NotEmpty(b.t, faults, what)
	require.Equal(b.t, "s", faults[0].Source, what)
	require.Contains(b.t, faults.Error(), want, what)
}

// faults #64: a bad rule keeps its last good version in force and does not harm its neighbours; what is not understood is said, with its place.
func TestBadRulesOfEverySentinelKind(t *testing.T) {
	eachBadSample(t, func(b *badInput) {
		rep := b.offer("a bad rule", b.sample.document("["+b.sample.bad()+"]"))
		b.reported("a bad rule", rep, "")
		require.Positive(b.t, rep.Problems.Faults()[0].Position.Line)
		require.NotEmpty(b.t, rep.Problems.Faults()[0].Field)
		require.NotEmpty(b.t, rep.Problems.Faults()[0].Kind)

		rep = b.offer("an unknown key", b.sample.document("["+replaced(b.sample.good, `"zzzzzz":1`)+"]"))
		require.NotEmpty(b.t, rep.Problems)
		require.ErrorContains(b.t, rep.Problems, "zzzzzz")
		require.Positive(b.t, rep.Problems[0].Position.Line)
		require.Equal(b.t, b.before, b.e.Rules(), "a key that means nothing changes nothing")

		for _, element := range []string{"7", "null", `"x"`, "[]", "[[]]", "true", "{}"} {
			what := "an element that is " + element
			rep = b.offer(what, b.sample.document("["+b.sample.good+","+element+"]"))
			b.reported(what, rep, "")
		}
		for _, key := range sampleKeys(b.sample.good) {
			for _, value := range []string{"[[[]]]", `{"nonsense":{}}`} {
				what := key + " that is " + value
				rep = b.offer(what, b.sample.document("["+replaced(b.sample.good, `"`+key+`":`+value)+"]"))
				require.NotEmpty(b.t, rep.Problems, what)
				require.Equal(b.t, b.before, b.e.Rules(), what)
				require.Positive(b.t, rep.Problems[0].Position.Line, what)
			}
		}
	})
}

// sampleKeys returns an object's keys.
func sampleKeys(object string) []string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &fields); err != nil {
		panic(err)
	}
	return slices.Sorted(maps.Keys(fields))
}

// Documents that are not of this kind: nothing that can be told apart is taken for a rule.
func TestForeignDocumentsOfEverySentinelKind(t *testing.T) {
	eachBadSample(t, func(b *badInput) {
		for _, foreign := range []string{
			"", " \n", "null", "{}", "7", `"x"`, "x", "cordon: 1\nflow: []\n", `{"cordon": 1, "flow": []}`, "<rules/>", "\x1f\x8b\x08\x00\x00\x00", "[" + b.sample.good, b.sample.good,
			`{"apiVersion":"datasource.sentinel.io/v1alpha1","kind":"WeatherRules","spec":{"rules":[]}}`,
			`{"apiVersion":"datasource.sentinel.io/v2","kind":"FlowRules","spec":{"rules":[]}}`,
		} {
			if b.sample.dialect == sentinel.CRD {
				foreign = strings.Replace(foreign, "[]", "[ ]", 1)
			}
			b.refused(fmt.Sprintf("%q", foreign), foreign, "")
		}
		for _, other := range badSamples() {
			// What golang has of isolation rules is also what a hotspot rule may have.
			same := other.kind == sentinel.Isolation && other.dialect == sentinel.Go
			if other.kind == b.sample.kind || same && b.sample.kind == sentinel.Param {
				continue
			}
			what := "a document of " + other.String()
			rep := b.offer(what, other.document("["+other.good+"]"))
			require.NotEmpty(b.t, rep.Problems, what)
			if same && rep.Applied { // and nearly what a flow rule may have
				require.ErrorContains(b.t, rep.Problems, "metricType", what)
				require.Positive(b.t, rep.Problems[0].Position.Line, what)
				rep = b.offer("the good one", b.sample.document("["+b.sample.good+"]"))
				require.True(b.t, rep.OK())
				continue
			}
			b.reported(what, rep, "")
		}
	})
}

// A document of one dialect under the other's name, and of both at once.
func TestWrongDialectOfEverySentinelKind(t *testing.T) {
	t.Parallel()
	for _, s := range badSamples() {
		for _, other := range badSamples() {
			if other.kind != s.kind || other.dialect == s.dialect {
				continue
			}
			data := []byte(s.document("[" + s.good + "]"))
			doc, err := sentinel.Decode(s.kind, "s", data, sentinel.WithDialect(other.dialect))
			if err == nil {
				require.NotEmpty(t, doc.Problems, "%v read as %v", s, other.dialect)
				require.Positive(t, doc.Problems[0].Position.Line)
			}
			if s.dialect == sentinel.CRD || other.dialect == sentinel.CRD || s.kind == sentinel.Isolation {
				continue
			}
			_, err = sentinel.Decode(s.kind, "s", []byte("["+s.good+","+other.good+"]"))
			require.ErrorContains(t, err, "the document mixes dialects", "%v and %v", s, other)
		}
	}
}

// Encodings, NUL bytes, and documents that are cut off anywhere.
func TestDamagedDocumentsOfEverySentinelKind(t *testing.T) {
	eachBadSample(t, func(b *badInput) {
		good := b.sample.document("[" + b.sample.good + "]")
		for name, order := range map[string]binary.AppendByteOrder{"UTF-16 (little endian)": binary.LittleEndian, "UTF-16 (big endian)": binary.BigEndian} {
			for _, mark := range []string{"", "\uFEFF"} {
				var data []byte
				for _, u := range utf16.Encode([]rune(mark + good)) {
					data = order.AppendUint16(data, u)
				}
				b.refused(name, string(data), name)
			}
		}
		b.refused("nothing but NUL", string(make([]byte, 1000)), "")
		b.refused("no UTF-8", strings.Replace(good, `"`, "\"\xf6", 1), "UTF-8")
		for n := range len(good) {
			b.refused(fmt.Sprintf("cut off after %d bytes", n), good[:n], "")
			if n > 0 {
				b.refused(fmt.Sprintf("cut off after %d bytes, then zeros", n), good[:n]+strings.Repeat("\x00", len(good)-n), "")
			}
			b.refused(fmt.Sprintf("NUL after %d bytes", n), good[:n]+"\x00"+good[n:], "")
		}
		rep := b.offer("a mark", "\uFEFF"+good)
		require.True(b.t, rep.OK(), "%v", rep.Problems)
		require.Equal(b.t, b.before, b.e.Rules())
	})
}

// Bombs: nesting, aliases, and what is large.
func TestBombsOfEverySentinelKind(t *testing.T) {
	eachBadSample(t, func(b *badInput) {
		const deep = 100_000
		for _, bomb := range []string{
			strings.Repeat("[", deep), strings.Repeat(`{"a":`, deep), strings.Repeat("[", deep) + strings.Repeat("]", deep),
			strings.Repeat(`{"rule":`, deep) + "1" + strings.Repeat("}", deep), strings.Repeat("/*", deep), strings.Repeat("# ", deep),
		} {
			b.refused("nesting "+bomb[:8], bomb, "")
			b.refused("nesting in a list "+bomb[:8], b.sample.document("["+bomb+"]"), "")
			b.refused("nesting in a rule "+bomb[:8], b.sample.document("["+spoilt(b.sample.good, `"zz":`+bomb)+"]"), "")
		}
		if b.sample.dialect != sentinel.CRD {
			return
		}
		for _, item := range []string{"[*, *, *, *, *]", `{"a": *, "b": *, "c": *}`, "{<<: [*, *, *, *]}"} {
			var bomb strings.Builder
			bomb.WriteString("a0: &a0 " + b.sample.good + "\n")
			for i := range 40 {
				fmt.Fprintf(&bomb, "a%d: &a%d %s\n", i+1, i+1, strings.ReplaceAll(item, "*", fmt.Sprintf("*a%d", i)))
			}
			b.refused("aliases "+item, bomb.String()+"apiVersion: datasource.sentinel.io/v1alpha1\nkind: FlowRules\nspec: {rules: [*a40]}\n", "")
		}
	})
}

// Documents of 50 MB.
func TestLargeDocumentsOfEverySentinelKind(t *testing.T) {
	if testing.Short() {
		t.Skip("reads gigabytes")
	}
	const large = 50 << 20
	fill := func(unit string) string { return strings.Repeat(unit, large/len(unit)) }
	eachBadSample(t, func(b *badInput) {
		documents := map[string]string{"bad rules": b.sample.document("[" + fill(b.sample.bad()+",\n") + b.sample.bad() + "]")}
		if b.sample.kind == sentinel.Flow {
			maps.Copy(documents, map[string]string{
				"unknown keys": b.sample.document("[{" + fill(`"zzzzzzzz":0,`) + b.sample.good[1:] + "]"),
				"a long key":   b.sample.document(`[{"` + fill("z") + `":0}]`),
				"a long text":  b.sample.document(`["` + fill("z") + `"]`),
				"spaces":       fill(" "),
				"zeros":        b.sample.document("[" + fill("0,") + "0]"),
				"brackets":     fill("["),
				"a comment":    "[/*" + fill("*") + "*/",
				"too large":    b.sample.document("[" + strings.Repeat(fill(" "), 2) + "]"),
			})
		}
		for what, data := range documents {
			rep := b.offer(what, data)
			b.reported(what, rep, "")
			require.Less(b.t, len(rep.Problems.Error()), 1<<20, what)
		}
	})
}
