package cordon

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/rule"
)

// ruleSample is a good rule and a bad one of a kind. Each good one has a key that no other kind has, so that it is good for its own kind only.
type ruleSample struct{ good, bad string }

// ruleSamples are those of all kinds, which TestEveryKindHasASample holds to.
var ruleSamples = map[string]ruleSample{
	"flow":        {`{"id": "good", "resource": "r", "limit": 5, "per": "2s"}`, `{"id": "bad", "resource": "r", "limit": -5}`},
	"concurrency": {`{"id": "good", "resource": "r", "limit": 5, "queue": 3, "maxWait": "1s"}`, `{"id": "bad", "resource": "r", "limit": -5}`},
	"breaker":     {`{"id": "good", "resource": "r", "threshold": 0.5, "open": "1s"}`, `{"id": "bad", "resource": "r", "threshold": 7}`},
	"isolation":   {`{"id": "good", "service": "s", "probes": 2}`, `{"id": "bad", "service": "s", "maxShare": 7}`},
	"param":       {`{"id": "good", "resource": "r", "limit": 5, "param": "header.tenant"}`, `{"id": "bad", "resource": "r", "limit": -5, "param": "header.tenant"}`},
	"system":      {`{"id": "good", "metric": "cpu", "limit": 0.8}`, `{"id": "bad", "metric": "cpu", "limit": 80}`},
	"authority":   {`{"id": "good", "resource": "r", "allow": ["web"]}`, `{"id": "bad", "resource": "r", "allow": ["web"], "deny": ["web"]}`},
	"apiGroup":    {`{"id": "good", "name": "orders", "paths": [{"exact": "/orders"}]}`, `{"id": "bad", "name": "orders", "paths": [{"regex": "("}]}`},
}

// ruleKinds are the kinds of rules that a document may have, by their keys, with the types of their rules.
func ruleKinds() map[string]reflect.Type {
	kinds := map[string]reflect.Type{}
	all := reflect.TypeFor[Rules]()
	for i := range all.NumField() {
		kinds[all.Field(i).Tag.Get("rule")] = all.Field(i).Type.Elem()
	}
	return kinds
}

// writing is a way to write a document. The key that marks it comes last, so that one that is cut off is never a good one.
type writing struct {
	name     string
	document func(kind, rules string) string
}

var writings = []writing{
	{"yaml", func(kind, rules string) string { return kind + ": " + rules + "\ncordon: 1\n" }},
	{"json", func(kind, rules string) string { return `{"` + kind + `": ` + rules + `, "cordon": 1}` }},
}

func TestEveryKindHasASample(t *testing.T) {
	require.ElementsMatch(t, slices.Collect(maps.Keys(ruleKinds())), slices.Collect(maps.Keys(ruleSamples)))
	for kind, sample := range ruleSamples {
		for _, w := range writings {
			d, err := Native("s", []byte(w.document(kind, "["+sample.good+"]")))
			require.NoError(t, err)
			require.Empty(t, d.Problems, "%s in %s", kind, w.name)
			require.Equal(t, 1, d.Rules.count())
			e, _ := newTest(t, Rules{})
			rep, err := e.Apply(d.Rules)
			require.NoError(t, err)
			require.Empty(t, rep.Problems)
		}
	}
}

// eachDocument runs body for every kind in every writing, with a source whose good document is in force.
func eachDocument(t *testing.T, body func(b *badInput)) {
	for kind, sample := range ruleSamples {
		for _, w := range writings {
			t.Run(kind+" in "+w.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e, err := New()
					require.NoError(t, err)
					defer e.Close()
					b := &badInput{t: t, e: e, src: newFake("s"), kind: kind, sample: sample, writing: w}
					b.src.send(b.document("[" + sample.good + "]"))
					b.watch, err = e.Watch(bg, b.src, Native)
					require.NoError(t, err)
					b.before = e.Rules()
					require.Equal(t, 1, b.before.count())
					body(b)
				})
			})
		}
	}
}

// badInput gives an engine one bad document after the other.
type badInput struct {
	t       *testing.T
	e       *Engine
	watch   *Watch
	src     *fakeSource
	kind    string
	sample  ruleSample
	writing writing
	before  Rules
	sent    int
}

func (b *badInput) document(rules string) string { return b.writing.document(b.kind, rules) }

// offer sends a document, and returns what became of it and how much memory that took.
func (b *badInput) offer(data []byte) (rep rule.Report, allocated uint64) {
	b.t.Helper()
	b.sent++
	version := fmt.Sprint(b.sent)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.src.updates <- datasource.Update{Document: datasource.Document{Data: data, Version: version}}
	time.Sleep(time.Minute)
	synctest.Wait()
	runtime.ReadMemStats(&after)
	rep = b.watch.Report()
	require.Equal(b.t, version, rep.Version, "it was not even judged")
	require.True(b.t, b.watch.Health().Running)
	return rep, after.TotalAlloc - before.TotalAlloc
}

// refused requires that a document changes nothing and is reported with a position, in words that hold want.
func (b *badInput) refused(what string, data []byte, want string) rule.Report {
	b.t.Helper()
	rep, allocated := b.offer(data)
	b.refusedAs(what, rep, want)
	require.LessOrEqual(b.t, allocated, memoryBound(len(data)), "%s: memory for %d bytes", what, len(data))
	return rep
}

func (b *badInput) refusedAs(what string, rep rule.Report, want string) {
	b.t.Helper()
	require.False(b.t, rep.Applied, what)
	require.Equal(b.t, b.before, b.e.Rules(), what)
	faults := rep.Problems.Faults()
	require.NotEmpty(b.t, faults, what)
	require.Equal(b.t, "s", faults[0].Source, what)
	require.NotEmpty(b.t, faults[0].Message, what)
	require.Contains(b.t, faults.Error(), want, what)
	require.ErrorContains(b.t, b.watch.Health().LastError, want, what)
	if !strings.HasPrefix(faults[0].Message, "the document has ") { // as a whole, so many bytes
		require.Positive(b.t, faults[0].Position.Line, "%s: %v has no position", what, faults[0])
		require.Positive(b.t, faults[0].Position.Column, "%s: %v has no position", what, faults[0])
	}
}

// memoryBound is how many bytes may be allocated for a document of n bytes, all together: a value of the parsed document takes some hundred
// bytes and can be written in two, but there may be no more than two million.
func memoryBound(n int) uint64 { return 4<<20 + min(150*uint64(n), 1500<<20) }

// faults #64, #63: whatever is wrong with a rule of whatever kind is refused with its place, and what was good stays in force.
func TestBadRulesOfEveryKind(t *testing.T) {
	eachDocument(t, func(b *badInput) {
		rep := b.refused("one bad rule of two", []byte(b.document("["+b.sample.good+", "+b.sample.bad+"]")), "")
		fault := rep.Problems.Faults()[0]
		require.Equal(b.t, []any{b.kind, 1, "bad"}, []any{fault.Kind, fault.Index, fault.RuleID})
		require.NotEmpty(b.t, fault.Field)
		b.refused("an unknown key", []byte(b.document(`[{"idd": "x", `+b.sample.good[1:]+"]")), "idd")
		b.refused("a key twice", []byte(b.document(`[{"id": "x", `+b.sample.good[1:]+"]")), "twice")
		b.refused("an id twice", []byte(b.document("["+b.sample.good+", "+b.sample.good+"]")), "good")
		b.refused("an unknown section", []byte(strings.Replace(b.document("[]"), b.kind, b.kind+"s", 1)), b.kind+"s")
		b.refused("a section twice", []byte(strings.Replace(b.document("[]"), b.kind, b.kind+`": [], "`+b.kind, 1)), "")
		for _, section := range []string{`{}`, `"x"`, `7`, `true`, `null`, `[7]`, `[null]`, `["x"]`, `[[]]`, `[{}, 7]`, `{"0": ` + b.sample.good + `}`, b.sample.good} {
			b.refused("a list that is "+section, []byte(b.document(section)), "")
		}
		for _, version := range []string{"2", "0", "-1", "1.5", `"1"`, "null", "true", "[1]", "{}"} {
			data := b.document("[" + b.sample.good + "]")
			at := strings.LastIndex(data, "1")
			b.refused("version "+version, []byte(data[:at]+version+data[at+1:]), "cordon")
		}
		b.refused("no version", []byte(strings.Replace(b.document("["+b.sample.good+"]"), "cordon", "cordoned", 1)), "cordon")
	})
}

// faults #64: a value of a wrong type in any field of any kind.
func TestWrongTypesOfEveryKind(t *testing.T) {
	eachDocument(t, func(b *badInput) {
		for _, key := range keysOf(ruleKinds()[b.kind]) {
			for _, value := range []string{"null", "[[[]]]", `{"nonsense": {}}`, `[{"nonsense": 1}]`} {
				rest := without(b.sample.good, key)
				rep := b.refused(key+" that is "+value, []byte(b.document(fmt.Sprintf(`[{%q: %s, %s]`, key, value, rest[1:]))), key)
				require.Equal(b.t, b.kind, rep.Problems.Faults()[0].Kind)
			}
		}
	})
}

// keysOf returns the keys of a struct.
func keysOf(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		if key, ok := t.Field(i).Tag.Lookup("rule"); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// without returns an object without a key.
func without(object, key string) string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &fields); err != nil {
		panic(err)
	}
	delete(fields, key)
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// A rule under another kind's key, and documents that are not ours at all.
func TestForeignDocumentsOfEveryKind(t *testing.T) {
	eachDocument(t, func(b *badInput) {
		for kind, sample := range ruleSamples {
			if kind != b.kind {
				b.refused("a "+kind+" rule", []byte(b.document("["+sample.good+"]")), b.kind)
			}
		}
		for _, foreign := range []string{
			`[{"resource": "r", "count": 5.0, "grade": 1, "limitApp": "default", "strategy": 0, "controlBehavior": 0}]`,
			`[{"resource": "r", "threshold": 5, "tokenCalculateStrategy": 0}]`,
			`{"apiVersion": "datasource.sentinel.io/v1alpha1", "kind": "FlowRules", "spec": {"rules": []}}`,
			`[]`, `7`, `"text"`, `null`, "text", "- a\n- b\n",
			"<?xml version=\"1.0\"?><rules/>", "resource=r\nlimit=5\n",
			"\x1f\x8b\x08\x00\x00\x00\x00\x00", "\x7fELF", "PK\x03\x04",
			"{\"" + b.kind + "\": [" + b.sample.good + "]}",
		} {
			b.refused(fmt.Sprintf("%q", foreign), []byte(foreign), "")
		}
		good := b.document("[" + b.sample.good + "]")
		b.refused("two documents", []byte(good+"\n---\n"+good), "")
	})
}

// Encodings: UTF-8 with a mark is read, anything else is named and refused.
func TestEncodingsOfEveryKind(t *testing.T) {
	eachDocument(t, func(b *badInput) {
		good := b.document("[" + b.sample.good + "]")
		for _, c := range []struct {
			name  string
			order binary.AppendByteOrder
		}{{"UTF-16 (little endian)", binary.LittleEndian}, {"UTF-16 (big endian)", binary.BigEndian}} {
			for _, mark := range []string{"", "\uFEFF"} {
				var data []byte
				for _, u := range utf16.Encode([]rune(mark + good)) {
					data = c.order.AppendUint16(data, u)
				}
				b.refused(c.name+mark, data, c.name)
			}
		}
		var wide []byte
		for _, r := range "\uFEFF" + good {
			wide = binary.LittleEndian.AppendUint32(wide, uint32(r))
		}
		b.refused("UTF-32", wide, "UTF-32")
		b.refused("Latin 1", []byte(strings.Replace(good, "good", "g\xf6\xf6d", 1)), "UTF-8")
		for n := range len(good) {
			b.refused(fmt.Sprintf("NUL at %d", n), []byte(good[:n]+"\x00"+good[n:]), "")
		}
		b.refused("nothing but NUL", make([]byte, 1000), "")
		rep, _ := b.offer([]byte("\uFEFF" + good))
		require.True(b.t, rep.OK(), "%v", rep.Problems)
	})
}

// faults #63: a document that is cut off anywhere is refused.
func TestDocumentsCutOffOfEveryKind(t *testing.T) {
	eachDocument(t, func(b *badInput) {
		good := strings.TrimSpace(b.document("[" + b.sample.good + "]"))
		for n := range len(good) {
			b.refused(fmt.Sprintf("cut off after %d bytes", n), []byte(good[:n]), "")
			b.refused(fmt.Sprintf("cut off after %d bytes, then zeros", n), append([]byte(good[:n]), make([]byte, len(good)-n)...), "")
		}
	})
}

// Bombs: nesting, aliases, and what is large take no more memory than a document of that size may.
func TestBombsOfEveryKind(t *testing.T) {
	eachDocument(t, func(b *badInput) {
		const deep = 100_000
		for _, bomb := range []string{
			strings.Repeat("[", deep), strings.Repeat(`{"a":`, deep),
			strings.Repeat("[", deep) + strings.Repeat("]", deep), strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep),
			strings.Repeat("- ", deep), strings.Repeat("? ", deep), strings.Repeat("[{", deep), strings.Repeat(" ", deep) + "[", strings.Repeat("!!seq [", deep),
		} {
			b.refused("nesting "+bomb[:8], []byte(bomb), "")
			b.refused("nesting in a list "+bomb[:8], []byte(b.document(bomb)), "")
			b.refused("nesting in a rule "+bomb[:8], []byte(b.document("["+strings.TrimSuffix(b.sample.good, "}")+`, "zz": `+bomb+"}]")), "")
		}
		for _, item := range []string{"[*]", `{"a": *, "b": *, "c": *}`, "[*, *, *, *, *, *, *, *, *]", "{<<: [*, *, *, *]}"} {
			var bomb strings.Builder
			bomb.WriteString("a0: &a0 " + b.sample.good + "\n")
			for i := range 40 {
				fmt.Fprintf(&bomb, "a%d: &a%d %s\n", i+1, i+1, strings.ReplaceAll(item, "*", fmt.Sprintf("*a%d", i)))
			}
			b.refused("aliases "+item, []byte(bomb.String()+"cordon: 1\n"+b.kind+": [*a40]\n"), "")
		}
		b.refused("an alias of itself", []byte("cordon: 1\n"+b.kind+": &a [*a]\n"), "")
	})
}

// Documents of 50 MB of one kind's rules, keys, texts or nothing at all: refused, within a bound of memory, with no more than so many problems.
func TestLargeDocumentsOfEveryKind(t *testing.T) {
	if testing.Short() {
		t.Skip("reads gigabytes")
	}
	const large = 50 << 20
	fill := func(unit string) string { return strings.Repeat(unit, large/len(unit)) }
	eachDocument(t, func(b *badInput) {
		documents := map[string]string{"bad rules": b.document("[" + fill(b.sample.bad+",\n") + b.sample.bad + "]")}
		if b.kind == "flow" { // the rest never gets as far as to its kind
			maps.Copy(documents, map[string]string{
				"unknown keys": b.document(`[{` + fill(`"zzzzzzzz": 0,`) + b.sample.good[1:] + "]"),
				"empty rules":  b.document("[" + fill("{},") + "{}]"),
				"zeros":        b.document("[" + fill("0,") + "0]"),
				"a long key":   b.document(`[{"` + fill("z") + `": 0}]`),
				"a long text":  b.document(`["` + fill("z") + `"]`),
				"spaces":       fill(" "),
				"lines":        fill("\n"),
				"zero bytes":   fill("\x00"),
				"brackets":     fill("["),
				"never closed": b.document("[" + fill(b.sample.bad+",\n")),
				"too large":    b.document("[" + strings.Repeat(fill(" "), 2) + "]"),
			})
		}
		for what, data := range documents {
			rep := b.refused(what, []byte(data), "")
			require.LessOrEqual(b.t, len(rep.Problems), 2100, "%s: so many problems help nobody", what)
			require.Less(b.t, len(rep.Problems.Error()), 1<<20, what)
		}
	})
}
