package rule

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	old := []limitRule{{ID: "a", Limit: 1}, {ID: "b", Limit: 2}, {ID: "c", Limit: 3}, {ID: "d", unseen: 1}}
	now := []limitRule{{ID: "a", Limit: 1}, {ID: "c", Limit: 4, Per: time.Second, Memory: memory{1, 2}}, {ID: "e"}, {ID: "d"}}
	added, changed, removed, unchanged := Diff("flow", old, now)
	require.Equal(t, []Change{{Kind: "flow", ID: "e"}}, added)
	require.Equal(t, []Change{{Kind: "flow", ID: "c", Fields: []string{"limit", "per", "memory"}}, {Kind: "flow", ID: "d", Fields: []string{}}}, changed)
	require.Equal(t, []Change{{Kind: "flow", ID: "b"}}, removed)
	require.Equal(t, 1, unchanged)

	added, changed, removed, unchanged = Diff[limitRule]("flow", nil, nil)
	require.Empty(t, slices.Concat(added, changed, removed))
	require.Zero(t, unchanged)
}

// Whatever two sets hold, every rule is told once, and order alone is no change.
func TestDiffModel(t *testing.T) {
	t.Parallel()
	set := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) limitRule {
		return limitRule{ID: rapid.StringN(1, 1, 1).Draw(t, "id"), Limit: float64(rapid.IntRange(0, 1).Draw(t, "limit"))}
	}), 0, 8, func(r limitRule) string { return r.ID })
	find := func(rules []limitRule, id string) int {
		return slices.IndexFunc(rules, func(r limitRule) bool { return r.ID == id })
	}
	rapid.Check(t, func(t *rapid.T) {
		old, now := set.Draw(t, "old"), set.Draw(t, "now")
		added, changed, removed, unchanged := Diff("k", old, now)
		var wantAdded, wantChanged, wantRemoved []Change
		wantUnchanged := 0
		for _, r := range now {
			switch i := find(old, r.ID); {
			case i < 0:
				wantAdded = append(wantAdded, Change{Kind: "k", ID: r.ID})
			case old[i] != r:
				wantChanged = append(wantChanged, Change{Kind: "k", ID: r.ID, Fields: []string{"limit"}})
			default:
				wantUnchanged++
			}
		}
		for _, r := range old {
			if find(now, r.ID) < 0 {
				wantRemoved = append(wantRemoved, Change{Kind: "k", ID: r.ID})
			}
		}
		require.Equal(t, wantAdded, added)
		require.Equal(t, wantChanged, changed)
		require.Equal(t, wantRemoved, removed)
		require.Equal(t, wantUnchanged, unchanged)
	})
}

func TestDeriveIDs(t *testing.T) {
	t.Parallel()
	rules := []limitRule{
		{Resource: Name("orders.Create")}, {Resource: Wildcard("/a*")}, {Resource: Name("orders.Create")}, {ID: "mine", Resource: Name("orders.Create")},
		{Resource: Regex("a|b")}, {Resource: Default()}, {Resource: Wildcard("/a*")}, {},
	}
	require.Empty(t, DeriveIDs("flow", rules))
	require.Equal(t, []string{"orders.Create#1", "wildcard:/a*#1", "orders.Create#2", "mine", "regex:a|b#1", "default#1", "wildcard:/a*#2", "#1"}, ids(rules))

	again := slices.Clone(rules)
	require.Empty(t, DeriveIDs("flow", again))
	require.Equal(t, rules, again, "ids that are there stay")

	twice := []limitRule{{ID: "a"}, {ID: "b"}, {ID: "a"}, {ID: "a"}}
	problems := DeriveIDs("flow", twice)
	require.Equal(t, `flow[2] (a): id: "a" is used twice, first by flow[0]; want each id once within its kind
flow[3] (a): id: "a" is used twice, first by flow[0]; want each id once within its kind`, problems.Error())

	// A derived id steps aside for one that somebody gave, wherever it stands, and for that of another match.
	clash := []limitRule{{Resource: Name("a")}, {ID: "a#1"}, {Resource: Name("wildcard:x")}, {Resource: Wildcard("x")}, {Resource: Name("default")}, {Resource: Default()}}
	require.Empty(t, DeriveIDs("flow", clash))
	require.Equal(t, []string{"a#2", "a#1", "wildcard:x#1", "wildcard:x#2", "default#1", "default#2"}, ids(clash))
}

func TestReport(t *testing.T) {
	t.Parallel()
	change := []Change{{Kind: "flow", ID: "a"}}
	fault := Problem{Source: "rules.yaml", Position: Position{3, 4}, Kind: "flow", Index: 1, Message: "is wrong"}
	warning := Problem{Message: "is odd", Warning: true}
	for _, c := range []struct {
		report Report
		ok     bool
		rules  int
		text   string
	}{
		{Report{Applied: true}, true, 0, "rules: 0 added, 0 changed, 0 removed, 0 unchanged"},
		{Report{Source: "rules.yaml", Version: "v3", Applied: true, Added: change, Changed: change, Removed: change, Unchanged: 7, Problems: Problems{warning}}, true, 9,
			"rules of rules.yaml (v3): 1 added, 1 changed, 1 removed, 7 unchanged; 1 warning"},
		{Report{Source: "rules.yaml", Applied: true, Added: change, Kept: change, Problems: Problems{warning, fault, fault, warning}}, false, 2,
			"rules of rules.yaml: 1 added, 0 changed, 0 removed, 0 unchanged, 1 kept at the last good version; 2 faults; 2 warnings; first: rules.yaml:3:4: flow[1]: is wrong"},
		{Report{Problems: Problems{fault}}, false, 0, "rules refused, nothing changed; 1 fault; first: rules.yaml:3:4: flow[1]: is wrong"},
		{Report{Applied: true, Kept: change}, false, 1, "rules: 0 added, 0 changed, 0 removed, 0 unchanged, 1 kept at the last good version"},
	} {
		require.Equal(t, c.ok, c.report.OK(), c.text)
		require.Equal(t, c.rules, c.report.Rules(), c.text)
		require.Equal(t, c.text, c.report.String())
	}
}

func BenchmarkDiff(b *testing.B) {
	old := manyRules(10_000)
	edited := slices.Clone(old)
	edited[5000].Limit++
	shifted := slices.Delete(slices.Clone(old), 0, 1)
	b.Run("OneChanged", func(b *testing.B) {
		for b.Loop() {
			Diff("flow", old, edited)
		}
	})
	b.Run("FirstRemoved", func(b *testing.B) {
		for b.Loop() {
			Diff("flow", old, shifted)
		}
	})
}

func BenchmarkDeriveIDs(b *testing.B) {
	rules := manyRules(10_000)
	for i := range rules {
		rules[i].ID = ""
	}
	for b.Loop() {
		DeriveIDs("flow", slices.Clone(rules))
	}
}
