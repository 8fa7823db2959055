package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulehistory"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulestore"
	"github.com/cordon-go/cordon/datasource"
)

func TestRulesDiff(t *testing.T) {
	for name, args := range map[string][]string{
		"rules-diff":          {"testdata/rules.yaml", "testdata/rules-new.yaml"},
		"rules-diff-same":     {"testdata/rules.yaml", "testdata/rules.yaml"},
		"rules-diff-rules":    {"testdata/rules.yaml", "testdata/rules-same.yaml"},
		"rules-diff-sentinel": {"testdata/shop-flow-rules.json", "testdata/shop-flow-rules-new.json"},
		"rules-diff-forms":    {"testdata/shop-flow-rules.json", "testdata/rules.yaml"},
		"rules-diff-bad":      {"testdata/rules.yaml", "testdata/bad.yaml"},
		"rules-diff-broken":   {"testdata/rules.yaml", "testdata/cut.yaml"},
		"rules-diff-missing":  {"testdata/rules.yaml", "testdata/none.yaml"},
		"rules-diff-unclear":  {"testdata/rules.yaml", "testdata/unclear.json"},
		"rules-diff-json":     {"--json", "testdata/rules.yaml", "testdata/rules-new.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			runCordon(t, "", append([]string{"rules", "diff"}, args...)...).golden(t, name)
		})
	}
}

// What nothing tells of one document is taken from the other.
func TestRulesDiffTakesTheKindFromTheOther(t *testing.T) {
	r := runCordon(t, `[{"resource": "/a", "threshold": 5}]`, "rules", "diff", "-", "testdata/shop-flow-rules.json")
	require.Equal(t, exitBad, r.code, r.err)
	require.Contains(t, r.out, "--- <stdin>  sentinel-go, flow")
	r = runCordon(t, "", "rules", "diff", "testdata/unclear.json", "testdata/unclear.json")
	require.Equal(t, exitMisuse, r.code)
	require.Contains(t, r.err, "--kind")
	r = runCordon(t, "", "rules", "diff", "--kind", "isolation", "testdata/unclear.json", "testdata/unclear.json")
	require.Equal(t, exitGood, r.code, r.err)
}

func TestRulesPull(t *testing.T) {
	text, err := os.ReadFile("testdata/rules.yaml")
	require.NoError(t, err)
	r := runCordon(t, "", "rules", "pull", "testdata/rules.yaml")
	require.Equal(t, result{exitGood, string(text), "testdata/rules.yaml: native: 4 rules good\n"}, r)

	file := filepath.Join(t.TempDir(), "pulled")
	r = runCordon(t, "", "rules", "pull", "-o", file, "testdata/unclear.json")
	require.Equal(t, exitGood, r.code, r.err)
	require.Contains(t, r.err, "bytes")
	pulled, err := os.ReadFile(file)
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/unclear.json")
	require.NoError(t, err)
	require.Equal(t, want, pulled)

	for args, says := range map[string]string{
		"testdata/none.yaml":                         "testdata/none.yaml does not exist",
		"etcd://h/a":                                 "etcd:// is no place",
		"nacos://ann@h/a/b/c":                        "CORDON_NACOS_PASSWORD",
		"nacos://ann:s3cret@h/a/b/c":                 "CORDON_NACOS_PASSWORD",
		"testdata/rules.yaml -o testdata/none/there": "writing the rules",
		"testdata/rules.yaml --kind speed":           "speed",
		"nacos://h/a/b/c --ca testdata/none.pem":     "none.pem",
	} {
		r := runCordon(t, "", append([]string{"rules", "pull"}, strings.Fields(args)...)...)
		require.Equal(t, exitMisuse, r.code, args)
		require.Contains(t, r.err, says)
		require.NotContains(t, r.err+r.out, "s3cret")
	}
}

// stored is a store of one document in memory.
type stored struct {
	mu      sync.Mutex
	content rulestore.Content
	fails   error
	// before is called before a write compares.
	before  func()
	changes chan []byte
	closed  int
}

func (s *stored) Read(context.Context) (rulestore.Content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.content, s.fails
}

func (s *stored) Write(_ context.Context, data []byte, was rulestore.Content) error {
	if s.before != nil {
		s.before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.content.Sum() != was.Sum() {
		return fmt.Errorf("%w: by somebody", rulestore.ErrConflict)
	}
	s.content = rulestore.Content{Data: data}
	return nil
}

func (s *stored) put(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content = rulestore.Content{Data: []byte(text), Absent: text == ""}
}

func (s *stored) Source() datasource.Source { return s }

func (s *stored) Name() string { return "stored" }

func (s *stored) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	for {
		select {
		case data := <-s.changes:
			if data == nil {
				deliver(datasource.Update{Err: errors.New("connection refused")})
				continue
			}
			deliver(datasource.Update{Document: datasource.Document{Data: data, Version: "v"}})
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *stored) Close() error {
	s.closed++
	return nil
}

const (
	target  = "nacos://h:8848/public/G/rules.yaml"
	oneRule = "cordon: 1\nflow: [{id: a, resource: r, limit: 1}]\n"
)

// pushes runs commands on the document in s, or on real servers without; it keeps its history.
type pushes struct {
	t        *testing.T
	s        *stored
	history  string
	terminal bool
}

func newPushes(t *testing.T, text string) *pushes {
	p := &pushes{t: t, s: &stored{changes: make(chan []byte, 10)}, history: t.TempDir()}
	p.s.put(text)
	return p
}

// file writes a file.
func (p *pushes) file(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.t.TempDir(), name)
	require.NoError(p.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (p *pushes) run(in string, args ...string) result {
	p.t.Helper()
	return p.runUntil(p.t.Context(), in, args...)
}

func (p *pushes) runUntil(ctx context.Context, in string, args ...string) result {
	p.t.Helper()
	var out, errs bytes.Buffer
	code := p.on(ctx, streams{in: strings.NewReader(in), out: &out, err: &errs}, args...)
	return result{code, out.String(), errs.String()}
}

func (p *pushes) on(ctx context.Context, s streams, args ...string) int {
	r := &rules{streams: s, clock: clock.NewManual(), terminal: func(io.Reader) bool { return p.terminal }}
	r.open = func(a rulestore.Address, access rulestore.Access) (rulestore.Store, error) {
		if a.Path != "" || p.s == nil {
			return rulestore.Open(a, access)
		}
		return p.s, nil
	}
	root := newRoot(s)
	for _, old := range root.Commands() {
		if old.Name() == "rules" {
			root.RemoveCommand(old)
		}
	}
	root.AddCommand(r.command())
	return execute(ctx, root, append([]string{"rules"}, args...), s)
}

// A meddler answers yes, after something has happened.
type meddler struct {
	before func()
	rest   io.Reader
}

func (m *meddler) Read(p []byte) (int, error) {
	if m.rest == nil {
		m.before()
		m.rest = strings.NewReader("yes\n")
	}
	return m.rest.Read(p)
}

// push pushes a document with that text.
func (p *pushes) push(in, text string, args ...string) result {
	p.t.Helper()
	return p.run(in, append([]string{"push", "--history", p.history, p.file("new.yaml", text), target}, args...)...)
}

func TestPushAsksFirst(t *testing.T) {
	next := strings.ReplaceAll(oneRule, "limit: 1", "limit: 2")
	p := newPushes(t, oneRule)
	r := p.push("y\n", next)
	require.Equal(t, exitMisuse, r.code, "nobody is there to answer")
	require.Contains(t, r.err, "--yes")
	require.Contains(t, r.out, "limit is raised from 1 to 2")
	require.Equal(t, oneRule, string(p.s.content.Data))

	p.terminal = true
	for _, answer := range []string{"n\n", "\n", "", "yesterday\n"} {
		r = p.push(answer, next)
		require.Equal(t, exitBad, r.code)
		require.Contains(t, r.err, "store it? [y/N]")
		require.Contains(t, r.err, "nothing is stored")
		require.Equal(t, oneRule, string(p.s.content.Data))
	}
	r = p.push(" Y \n", next)
	require.Equal(t, exitGood, r.code, r.err)
	require.Equal(t, next, string(p.s.content.Data))
	require.Equal(t, 6, p.s.closed)

	r = p.push("", next)
	require.Equal(t, exitGood, r.code)
	require.Contains(t, r.out, "the same, byte for byte")
	r = p.run(next+"# more\n", "push", "--history", p.history, "-", target)
	require.Equal(t, exitMisuse, r.code, "the standard input is the document, not an answer")
	r = p.run(next+"# more\n", "push", "--history", p.history, "--yes", "-", target)
	require.Equal(t, exitGood, r.code, r.err)
	require.Contains(t, r.out, "no rule changes, only how it is written")
}

func TestPushSaysWhenNoRuleIsLeft(t *testing.T) {
	p := newPushes(t, oneRule)
	r := p.push("", "cordon: 1\n", "--yes")
	require.Equal(t, exitGood, r.code, r.err)
	require.Contains(t, r.out, "no rule is left")
	r = p.push("", oneRule, "--yes")
	require.NotContains(t, r.out, "no rule is left")
}

// faults #62, #64: what would be refused is never stored, also where readers would take the good rules of it; and nobody is asked for anything before.
func TestPushNeverStoresWhatWouldBeRefused(t *testing.T) {
	p := newPushes(t, oneRule)
	p.s.fails = errors.New("the server is down")
	for text, says := range map[string]string{
		"cordon: 1\nflow: [{id: a, resource: r, limti: 1}]\n": "new.yaml:2:29: flow[0] (a): unknown field \"limti\"",
		"cordon: 1\nflow: [{id: a":                            "new.yaml:",
		"":                                                    "empty",
		"[{\"resource\":\"a\",\"count\":1},{\"resource\":\"b\",\"count\":-1}]": "-1 is too small",
	} {
		r := p.push("", text, "--yes")
		require.Equal(t, exitBad, r.code, text)
		require.Contains(t, r.out, says)
		require.Contains(t, r.err, "has faults")
	}
	r := p.push("", oneRule, "--yes")
	require.Equal(t, exitMisuse, r.code)
	require.Contains(t, r.err, target+": the server is down")
	p.s.fails = nil
	require.Equal(t, oneRule, string(p.s.content.Data))
}

// What readers would refuse because it is of another form than what is there is stored only when told so.
func TestPushKeepsTheForm(t *testing.T) {
	const list = `[{"resource":"a","count":1}]`
	p := newPushes(t, oneRule)
	r := p.push("", list, "--yes")
	require.Equal(t, exitBad, r.code)
	require.Contains(t, r.err, "new.yaml is sentinel-java, flow and would take the place of native")
	r = p.push("", list, "--yes", "--change-format")
	require.Equal(t, exitGood, r.code, r.err)
	require.Equal(t, exitBad, p.push("", `[{"resource":"a","threshold":1,"statIntervalInMs":1000}]`, "--yes").code, "of the other dialect")
	require.Equal(t, exitBad, p.push("", `[{"resource":"a","count":0.5,"grade":1,"timeWindow":5}]`, "--yes").code, "of another kind")
	require.Equal(t, exitGood, p.push("", `[]`, "--yes", "--kind", "flow").code)
	require.Equal(t, exitGood, p.push("", list, "--yes").code)

	for garbage, why := range map[string]string{"{": "cannot be read", "[": "", "\x00": "cannot be read"} {
		p.s.put(garbage)
		r = p.push("", oneRule, "--yes")
		require.Equal(t, exitGood, r.code, "%q: %s", garbage, r.err)
		require.Contains(t, r.out, why)
	}
}

// The name of the target tells what a document is about, if nothing else does.
func TestPushTakesTheKindFromTheTarget(t *testing.T) {
	p := newPushes(t, "")
	const list = `[{"resource":"a","threshold":5}]`
	r := p.push("", list, "--yes")
	require.Equal(t, exitMisuse, r.code)
	require.Contains(t, r.err, "--kind")
	r = p.run("", "push", "--history", p.history, "--yes", p.file("x.json", list), "nacos://h/public/G/shop-isolation-rules")
	require.Equal(t, exitGood, r.code, r.err)
	require.Contains(t, r.out, "does not exist")
	require.Contains(t, r.out, "+ concurrency")
	r = p.run("", "push", "--history", p.history, "--yes", p.file("x.flow.json", list+" "), "nacos://h/public/G/shop-isolation-rules")
	require.Equal(t, exitBad, r.code)
	require.Contains(t, r.err, "sentinel-go, flow and would take the place of sentinel-go, isolation")
	p.s.put("")
	r = p.run("", "push", "--history", p.history, "--yes", p.file("x.flow.json", list), "nacos://h/public/G/shop-isolation-rules")
	require.Equal(t, exitBad, r.code)
	require.Contains(t, r.err, "says that it is about isolation")
	require.True(t, p.s.content.Absent)
}

// Somebody else's change in between is neither overwritten nor hidden.
func TestPushTellsOfAConflict(t *testing.T) {
	p := newPushes(t, oneRule)
	theirs := strings.ReplaceAll(oneRule, "limit: 1", "limit: 7")
	p.s.before = func() { p.s.put(theirs) }
	r := p.push("", strings.ReplaceAll(oneRule, "limit: 1", "limit: 2"), "--yes")
	require.Equal(t, exitBad, r.code)
	require.Equal(t, theirs, string(p.s.content.Data))
	_, meanwhile, ok := strings.Cut(r.out, "meanwhile somebody else has changed it:")
	require.True(t, ok)
	require.Contains(t, meanwhile, "limit is raised from 1 to 7")
	require.Contains(t, r.err, "push again to decide anew")
	p.s.before = func() { p.s.put("") }
	r = p.push("", oneRule, "--yes")
	require.Equal(t, exitBad, r.code)
	require.Contains(t, r.out, "now  does not exist")
}

func TestHistoryAndRollback(t *testing.T) {
	second := strings.ReplaceAll(oneRule, "limit: 1", "limit: 2")
	p := newPushes(t, oneRule)
	r := p.push("", second, "--yes")
	require.Contains(t, r.out, "stored as version 2; what was there before is version 1")
	p.s.put(oneRule + "# by hand\n")
	r = p.run("", "push", "--history", p.history, "--yes", "--version", "2", target)
	require.Equal(t, exitGood, r.code, r.err)
	require.Contains(t, r.out, "+++ version 2  native")
	require.Contains(t, r.out, "stored as version 4; what was there before is version 3")
	require.Equal(t, second, string(p.s.content.Data))

	r = p.run("", "history", "--history", p.history, "--json", "nacos://somebody@h:8848/public/G/rules.yaml")
	require.Equal(t, exitGood, r.code, r.err)
	var list []rulehistory.Version
	require.NoError(t, json.Unmarshal([]byte(r.out), &list))
	require.Len(t, list, 4)
	require.Equal(t, "version 2", list[0].Source)
	require.Equal(t, "0 added, 1 changed, 0 removed, 0 unchanged", list[0].Changes)
	require.Empty(t, list[1].Source)
	require.Contains(t, list[2].Source, "new.yaml")
	require.NotEmpty(t, list[0].User)
	require.Equal(t, target, list[0].Target)
	r = p.run("", "history", "--history", p.history, target, "1")
	require.Equal(t, result{exitGood, oneRule, ""}, r)

	for args, says := range map[string]string{
		"history TARGET 9":                       "version 9 of " + target + ": no such version",
		"history TARGET x":                       `"x" is no version`,
		"history TARGET 0":                       `"0" is no version`,
		"history etcd://h":                       "etcd:// is no place",
		"push --yes --version 9 TARGET":          "version 9 of " + target + ": no such version",
		"push --yes TARGET":                      "1 argument given; want cordon rules push {FILE | --version N} ADDRESS",
		"push --yes --version 1 f TARGET":        "2 arguments given; want cordon rules push",
		"history --history none TARGET":          "none",
		"push --history none --version 1 TARGET": "needs a history",
	} {
		fields := strings.Fields(strings.ReplaceAll(args, "TARGET", target))
		if !strings.Contains(args, "--history") {
			fields = append(fields, "--history", p.history)
		}
		r := p.run("", fields...)
		require.Equal(t, exitMisuse, r.code, args)
		require.Contains(t, r.err, says, args)
	}
	r = p.run("", "history", "--history", p.history, "nacos://h:8848/public/G/other")
	require.Equal(t, exitGood, r.code)
	require.Contains(t, r.out, "no versions of nacos://h:8848/public/G/other are kept here")
	r = p.run("", "history", "--history", p.history, "--json", "other")
	require.JSONEq(t, "[]", r.out)
}

// Nothing is stored that could not be taken back, unless nothing is to be kept.
func TestPushWithoutAHistory(t *testing.T) {
	p := newPushes(t, oneRule)
	second := strings.ReplaceAll(oneRule, "limit: 1", "limit: 2")
	p.history = p.file("a-file", "")
	r := p.push("", second, "--yes")
	require.Equal(t, exitMisuse, r.code)
	require.Contains(t, r.err, "--history none")
	require.Equal(t, oneRule, string(p.s.content.Data))
	p.history = "none"
	r = p.push("", second, "--yes")
	require.Equal(t, exitGood, r.code, r.err)
	require.Equal(t, second, string(p.s.content.Data))

	p.s.put("") // there is nothing to keep before, and then it is stored
	p.history = p.file("a-file", "")
	r = p.push("", second, "--yes")
	require.Equal(t, exitMisuse, r.code)
	require.Contains(t, r.err, "it is stored, but")
	require.Equal(t, second, string(p.s.content.Data))
}

// The history is in the user's state folder unless it is told where.
func TestHistoryInTheStateFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p := newPushes(t, oneRule)
	r := p.run("", "push", "--yes", p.file("new.yaml", oneRule+"# x\n"), target)
	require.Equal(t, exitGood, r.code, r.err)
	kept, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "cordon", "rules", "*", "*.json"))
	require.NoError(t, err)
	require.Len(t, kept, 2)
	require.Contains(t, p.run("", "history", target).out, "was there before")
}

func TestPushToAFile(t *testing.T) {
	p := newPushes(t, "")
	path := p.file("rules.yaml", oneRule)
	r := p.run("", "push", "--yes", "--history", p.history, p.file("new.yaml", oneRule+"# x\n"), path)
	require.Equal(t, exitGood, r.code, r.err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, oneRule+"# x\n", string(data))
	fresh := filepath.Join(t.TempDir(), "fresh.yaml")
	require.Equal(t, exitGood, p.run("", "push", "--yes", "--history", p.history, path, fresh).code)
	require.FileExists(t, fresh)
	r = p.run("", "push", "--yes", "--history", p.history, path, filepath.Join(fresh, "x"))
	require.Equal(t, exitMisuse, r.code)
}

// Every change is shown as it comes; what cannot be read is shown too, and what cannot be reached is told.
func TestRulesWatch(t *testing.T) {
	for _, flag := range []string{"", "--json"} {
		p := newPushes(t, "")
		ctx, cancel := context.WithCancel(t.Context())
		var out, errs log
		code := make(chan int)
		go func() {
			args := []string{"watch", target}
			if flag != "" {
				args = append(args, flag)
			}
			code <- p.on(ctx, streams{in: strings.NewReader(""), out: &out, err: &errs}, args...)
		}()
		shows := func(says ...string) {
			t.Helper()
			require.Eventually(t, func() bool {
				for _, s := range says {
					if !strings.Contains(out.String(), s) {
						return false
					}
				}
				return true
			}, 30*time.Second, time.Millisecond, "%s\n%s", out.String(), errs.String())
		}
		p.s.changes <- []byte(oneRule)
		shows("at most 1 call in any 1s")
		p.s.changes <- []byte(strings.ReplaceAll(oneRule, "limit: 1", "limit: 2"))
		shows("limit is raised from 1 to 2")
		p.s.changes <- nil
		require.Eventually(t, func() bool { return strings.Contains(errs.String(), "connection refused") }, 30*time.Second, time.Millisecond)
		p.s.changes <- []byte(strings.ReplaceAll(oneRule, "limit: 1", "limit: 2")) // it is there again as it was
		require.Eventually(t, func() bool { return strings.Contains(errs.String(), "source recovered") }, 30*time.Second, time.Millisecond)
		p.s.changes <- []byte("cordon: 1\nflwo: []\n")
		shows("flwo")
		p.s.changes <- []byte(strings.ReplaceAll(oneRule, "limit: 1", "limit: 3"))
		shows("limit is raised from 2 to 3") // from what is still in force
		cancel()
		require.Equal(t, exitGood, <-code)
		require.Equal(t, 1, p.s.closed)
		if flag == "" {
			continue
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 4)
		for _, line := range lines {
			var d watchJSON
			require.NoError(t, json.Unmarshal([]byte(line), &d))
			require.False(t, d.Time.IsZero())
			require.NotEmpty(t, d.Version)
		}
	}
}

// Of Sentinel's documents good rules are taken although others are refused: what comes next is compared with what is in force then.
func TestRulesWatchKeepsWhatIsInForce(t *testing.T) {
	p := newPushes(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out log
	code := make(chan int)
	go func() {
		code <- p.on(ctx, streams{in: strings.NewReader(""), out: &out, err: io.Discard}, "watch", "nacos://h/public/G/shop-flow-rules")
	}()
	for _, c := range [][2]string{
		{`[{"resource":"a","count":1},{"resource":"b","count":1}]`, "2 rules good"},
		{`[{"resource":"a","count":-5},{"resource":"b","count":2}]`, "refused as it is now"},
		{`[{"resource":"a","count":3},{"resource":"b","count":2}]`, "limit is raised from 1 to 3"},
		{`[]`, "2 removed"},
	} {
		p.s.changes <- []byte(c[0])
		require.Eventually(t, func() bool { return strings.Contains(out.String(), c[1]) }, 30*time.Second, time.Millisecond, "%s: %s", c[1], &out)
	}
	cancel()
	require.Equal(t, exitGood, <-code)
}

func TestRulesWatchNeedsToKnowTheKind(t *testing.T) {
	p := newPushes(t, "")
	p.s.changes <- []byte(`[{"resource":"a","threshold":5}]`)
	r := p.run("", "watch", target)
	require.Equal(t, exitMisuse, r.code)
	require.Contains(t, r.err, "--kind")
	require.Equal(t, exitMisuse, p.run("", "watch", "etcd://h").code)
}
