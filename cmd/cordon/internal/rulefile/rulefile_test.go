package rulefile

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/sentinel"
)

func TestReadTellsWhoseDocumentItIs(t *testing.T) {
	const native = "cordon: 1\nflow:\n  - {id: a, resource: a, limit: 1}\n"
	for name, c := range map[string]struct {
		name, text, kind string
		format           Format
		wantKind         string
	}{
		"native YAML":                 {"x", native, "", Native, ""},
		"native JSON":                 {"x", `{"cordon": 1, "flow": [{"id": "a", "resource": "a", "limit": 1}]}`, "", Native, ""},
		"native, whatever the name":   {"app.flow.json", native, "", Native, ""},
		"native, comment first":       {"x", "# ours\n" + native, "", Native, ""},
		"native, byte order mark":     {"x", "\uFEFF" + native, "", Native, ""},
		"java by its keys":            {"x", `[{"resource":"a","count":1}]`, "", SentinelJava, "flow"},
		"go by its keys":              {"x", `[{"resource":"a","threshold":1,"statIntervalInMs":1000}]`, "", SentinelGo, "flow"},
		"java, comment first":         {"x", "/* ours */ // too\n [{\"resource\":\"a\",\"count\":1}]", "", SentinelJava, "flow"},
		"go by its name":              {"app-isolation-rules", `[{"resource":"a","threshold":1}]`, "", SentinelGo, "isolation"},
		"said":                        {"x", `[{"resource":"a","threshold":1}]`, "isolation", SentinelGo, "isolation"},
		"said in Sentinel's own word": {"x", `[{"resource":"a","grade":1,"count":0.5,"timeWindow":5}]`, "degrade", SentinelJava, "breaker"},
		"java values by its keys":     {"x", `[{"resource":"a","paramIdx":0,"count":1}]`, "", SentinelJava, "param"},
		"go values, said":             {"x", `[{"resource":"a","metricType":0,"threshold":1}]`, "hotspot", SentinelGo, "param"},
		"empty list tells no dialect": {"app.flow.json", `[]`, "", Sentinel, "flow"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Read(c.name, []byte(c.text), As{Kind: c.kind})
			require.NoError(t, err)
			require.True(t, d.OK(), "%v", d.Problems)
			require.Equal(t, c.format, d.Format)
			require.Equal(t, c.wantKind, d.Kind)
			require.Equal(t, d.Good(), len(d.Lines()))
			for _, line := range d.Lines() {
				require.NotEmpty(t, line.ID)
				require.NotEmpty(t, line.Sentence)
			}
		})
	}
}

func TestReadAsksWhenTheKindCannotBeTold(t *testing.T) {
	_, err := Read("x.json", []byte(`[{"resource":"a","threshold":1}]`), As{})
	require.ErrorIs(t, err, sentinel.ErrKindUnknown)
	require.ErrorContains(t, err, "--kind")
	_, err = Read("x.json", nil, As{Kind: "speed"})
	require.ErrorContains(t, err, `"speed"`)
}

// What cannot be read as a whole is a refused document that says why, never an error of the reader nor an empty set of rules.
func TestBrokenDocumentsSayWhy(t *testing.T) {
	for name, c := range map[string]struct{ file, text, says string }{
		"empty":            {"rules.yaml", "", "empty"},
		"spaces":           {"rules.yaml", " \n\n", "empty"},
		"cut":              {"rules.yaml", "cordon: 1\nflow:\n  - {id: a", ""},
		"no version":       {"rules.yaml", "flow: []\n", "cordon"},
		"binary":           {"rules.yaml", "\x00\x01", ""},
		"cut Sentinel":     {"app.flow.json", `[{"resource":"a"`, ""},
		"unsupported kind": {"app-outlier-rules.json", `[{"resource":"a"}]`, "not supported"},
		"another kind":     {"app-degrade-rules.json", `[{"resource":"a","count":1,"warmUpPeriodSec":5}]`, "flow"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Read(c.file, []byte(c.text), As{})
			require.NoError(t, err)
			require.True(t, d.Broken)
			require.False(t, d.OK())
			require.NotEmpty(t, d.Problems)
			require.ErrorContains(t, d.Problems, c.says)
			require.Zero(t, d.Good())
			require.Contains(t, d.Verdict(), "the document is refused")
		})
	}
}

func TestVerdicts(t *testing.T) {
	for want, c := range map[string]struct{ file, text string }{
		"1 rule good": {"r.yaml", "cordon: 1\nflow:\n  - {id: a, resource: a, limit: 1}\n"},
		"1 rule refused, none good: the rules in force stay as they are":  {"r.yaml", "cordon: 1\nflow:\n  - {id: a, resource: a, limit: -1}\n"},
		"1 rule refused, none good: the last good versions stay in force": {"a.flow.json", `[{"resource":"a","count":-1}]`},
		"the document is refused: the rules in force stay as they are":    {"r.yaml", "cordon: 1\nflwo: []\n"},
		"0 rules good": {"a.flow.json", `[]`},
	} {
		d, err := Read(c.file, []byte(c.text), As{})
		require.NoError(t, err)
		require.Equal(t, want, d.Verdict(), "%v", d.Problems)
	}
}

func TestReadFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(file, []byte("cordon: 1\n"), 0o600))
	d, err := ReadFile(nil, file, As{})
	require.NoError(t, err)
	require.Equal(t, file, d.Name)
	d, err = ReadFile(strings.NewReader("cordon: 1\n"), "-", As{})
	require.NoError(t, err)
	require.Equal(t, Stdin, d.Name)
	_, err = ReadFile(nil, file+".none", As{})
	require.ErrorIs(t, err, os.ErrNotExist)
	broken := errors.New("broken pipe")
	_, err = ReadFile(iotest.ErrReader(broken), "-", As{})
	require.ErrorIs(t, err, broken)
}

// What Write writes, Read reads as the same rules.
func TestWrittenRulesAreReadBack(t *testing.T) {
	d, err := Read("app.flow.json", []byte(`[{"resource":"a","count":5,"id":1},{"resource":"b","count":3,"grade":0,"id":2}]`), As{})
	require.NoError(t, err)
	for _, format := range []Format{Native, SentinelJava, SentinelGo} {
		parts, lost, err := d.Write(format, false)
		require.NoError(t, err)
		require.Empty(t, lost)
		var rules cordon.Rules
		for _, part := range parts {
			require.Empty(t, part.Losses)
			back, err := Read(part.FileName(), part.Data, As{Kind: part.Kind})
			require.NoError(t, err)
			require.True(t, back.OK(), "%v", back.Problems)
			require.Equal(t, format, back.Format)
			rules.Flow = append(rules.Flow, back.Rules.Flow...)
			rules.Concurrency = append(rules.Concurrency, back.Rules.Concurrency...)
		}
		require.Equal(t, d.Rules, rules, format)
	}
	parts, lost, err := new(Document).Write(SentinelGo, false)
	require.NoError(t, err)
	require.Empty(t, parts)
	require.Empty(t, lost)
}

// Limits by value are written natively and to the Sentinel whose paths they have.
func TestWrittenValueRulesAreReadBack(t *testing.T) {
	d, err := Read("app-param-rules", []byte(`[{"id":1,"resource":"a","paramIdx":0,"count":5,"burstCount":2,"paramFlowItemList":[{"object":"7","count":9,"classType":"int"}]}]`), As{})
	require.NoError(t, err)
	for format, losses := range map[Format]int{Native: 0, SentinelJava: 0, SentinelGo: 1} {
		parts, lost, err := d.Write(format, false)
		require.NoError(t, err)
		require.Empty(t, lost)
		require.Len(t, parts, 1)
		require.Len(t, parts[0].Losses, losses, format)
		back, err := Read(parts[0].FileName(), parts[0].Data, As{Kind: parts[0].Kind})
		require.NoError(t, err)
		require.True(t, back.OK(), "%v", back.Problems)
		if format == SentinelGo {
			back.Rules.Param[0].Param = d.Rules.Param[0].Param // which is what was lost
		}
		require.Equal(t, d.Rules.Param, back.Rules.Param, format)
	}
}

// Isolation rules are written natively, and never lost in silence.
func TestIsolationRulesAreWrittenOrLost(t *testing.T) {
	d, err := Read("r.yaml", []byte("cordon: 1\nisolation:\n  - {service: {default: true}, preset: quick}\n"), As{})
	require.NoError(t, err)
	require.Equal(t, "1 rule good", d.Verdict(), "%v", d.Problems)
	require.Equal(t, "isolation", d.Lines()[0].Kind)
	require.Equal(t, "default#1", d.Lines()[0].ID)
	require.Contains(t, d.Lines()[0].Sentence, "takes instances of {default: true} out of service")
	parts, lost, err := d.Write(Native, false)
	require.NoError(t, err)
	require.Empty(t, lost)
	back, err := Read("r.yaml", parts[0].Data, As{})
	require.NoError(t, err)
	require.Equal(t, d.Rules, back.Rules)
	for _, format := range []Format{SentinelJava, SentinelGo} {
		parts, lost, err := d.Write(format, false)
		require.NoError(t, err)
		require.Empty(t, parts)
		require.Len(t, lost, 1)
		require.True(t, lost[0].Omitted)
		require.Contains(t, lost[0].String(), "isolation (default#1): Sentinel has no rules that take instances out of service")
	}
}

// What is in force after a document is what an engine that follows it has, for documents of both habits.
func TestInForce(t *testing.T) {
	for name, texts := range map[string][]string{
		"a.flow.json": {
			`[{"resource":"a","count":1},{"resource":"b","count":1},{"resource":"c","count":1}]`,
			`[{"resource":"a","count":2},{"resource":"b","count":-1},{"resource":"d","count":-1}]`,
			`[`, `[{"resource":"b","count":-1}]`, `[{"resource":"b","count":3}]`, `[]`,
		},
		"r.yaml": {
			"cordon: 1\nflow: [{id: a, resource: a, limit: 1}, {id: b, resource: b, limit: 1}]",
			"cordon: 1\nflow: [{id: a, resource: a, limit: 2}, {id: b, resource: b, limit: -1}]",
			"flow: []", "cordon: 1\nflow: [{id: b, resource: b, limit: 2}]", "cordon: 1",
		},
	} {
		engine, err := cordon.New()
		require.NoError(t, err)
		defer engine.Close()
		source := make(documents, 1)
		decode := cordon.Decoder(cordon.Native)
		if name == "a.flow.json" {
			decode = sentinel.Decoder(sentinel.Flow)
		}
		watch, err := engine.Watch(t.Context(), source, decode, cordon.FirstWithin(0), cordon.Debounce(-1))
		require.NoError(t, err)
		var last *Document
		for i, text := range texts {
			d, err := Read(name, []byte(text), As{})
			require.NoError(t, err)
			last = d.InForce(last)
			source <- datasource.Document{Data: []byte(text), Version: strconv.Itoa(i)}
			require.Eventually(t, func() bool { return watch.Report().Version == strconv.Itoa(i) }, time.Minute, time.Millisecond)
			require.ElementsMatch(t, engine.Rules().Flow, last.Rules.Flow, "%s after %s", name, text)
		}
	}
	broken := &Document{Broken: true}
	require.Nil(t, broken.InForce(nil))
}

// documents is a source of what is sent to it.
type documents chan datasource.Document

func (documents) Name() string { return "documents" }

func (s documents) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	for {
		select {
		case d := <-s:
			deliver(datasource.Update{Document: d})
		case <-ctx.Done():
			return nil
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"cordon: 1\n", "[]", `[{"resource":"a","count":1}]`, "", "// x\n[", "/*", "#", "{", "\uFEFF["} {
		f.Add("app.flow.json", []byte(seed))
		f.Add("rules.yaml", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		before := bytes.Clone(data)
		d, err := Read(name, data, As{})
		require.Equal(t, before, data)
		if err != nil {
			require.Nil(t, d)
			return
		}
		require.NotEmpty(t, d.Verdict())
		require.Equal(t, d.Good(), len(d.Lines()))
		if d.Broken {
			require.NotEmpty(t, d.Problems)
		}
	})
}
