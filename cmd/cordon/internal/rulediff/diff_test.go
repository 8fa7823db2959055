package rulediff

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulefile"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

func read(t require.TestingT, text string) *rulefile.Document {
	d, err := rulefile.Read("rules.yaml", []byte("cordon: 1\n"+text+"\n"), rulefile.As{})
	require.NoError(t, err)
	require.True(t, d.OK(), "%v", d.Problems)
	return d
}

// changes are the words of a Diff, a line each.
func changes(d *Diff) string {
	var b strings.Builder
	for _, c := range d.Changes {
		fmt.Fprintf(&b, "%s %s %s:", c.What, c.Kind, c.ID)
		for i, f := range c.Fields {
			if i > 0 {
				b.WriteString(";")
			}
			b.WriteString(" " + f.Words)
		}
		if c.What != Changed {
			b.WriteString(" " + c.Before + c.After)
		}
		b.WriteString("\n")
	}
	return b.String() + d.String()
}

func TestWords(t *testing.T) {
	for name, c := range map[string]struct{ before, after, want string }{
		"numbers and durations": {
			"flow: [{id: a, resource: a, limit: 10, per: 1s}, {id: b, resource: b, limit: 2, mode: pace, maxWait: 1s}]",
			"flow: [{id: a, resource: a, limit: 20, per: 500ms}, {id: b, resource: b, limit: 1, mode: pace, maxWait: 2s}]",
			"changed flow a: limit is raised from 10 to 20; per is shortened from 1s to 500ms\n" +
				"changed flow b: limit is lowered from 2 to 1; maxWait is lengthened from 1s to 2s\n0 added, 2 changed, 0 removed, 0 unchanged",
		},
		"a limit of nothing is a limit": {
			"flow: [{id: a, resource: a, limit: 10}]", "flow: [{id: a, resource: a, limit: 0}]",
			"changed flow a: limit is lowered from 10 to 0\n0 added, 1 changed, 0 removed, 0 unchanged",
		},
		"defaults, switches and texts": {
			"flow: [{id: a, resource: a, limit: 10, per: 2s}, {id: b, resource: b, limit: 1, shadow: true}]",
			"flow: [{id: a, resource: {wildcard: 'a*'}, limit: 10, mode: smooth, shadow: true}, {id: b, resource: b, limit: 1, per: 1s}]",
			"changed flow a: resource changes from a to {wildcard: a*}; per is left to its default, it was 2s; mode is set to smooth, it was left to its default; shadow is switched on\n" +
				"changed flow b: per is set to 1s, it was left to its default; shadow is switched off\n0 added, 2 changed, 0 removed, 0 unchanged",
		},
		"what is named has no order": {
			"system: [{id: a, metric: load, limit: 1}]", "system: [{id: a, metric: rate, limit: 1}]",
			"changed system a: metric changes from load to rate\n0 added, 1 changed, 0 removed, 0 unchanged",
		},
		"lists": {
			"authority: [{id: a, resource: a, allow: [x, y, z]}, {id: b, resource: b, deny: [x, y]}, {id: c, resource: c, deny: [x]}]",
			"authority: [{id: a, resource: a, allow: [z, w, a, b, c, d, e]}, {id: b, resource: b, deny: [y, x]}, {id: c, resource: c, allow: [x]}]",
			"changed authority a: allow gets w, a, b, c, d and 1 more, loses x, y\nchanged authority b: deny comes in another order\n" +
				"changed authority c: allow gets x; deny loses x\n0 added, 3 changed, 0 removed, 0 unchanged",
		},
		"lists of objects": {
			"apiGroup: [{name: g, paths: [{exact: /a}, {pattern: '/b/**'}]}]", "apiGroup: [{name: g, paths: [{exact: /a}, {exact: /c}]}]",
			"changed apiGroup g#1: paths gets {exact: /c}, loses {pattern: /b/**}\n0 added, 1 changed, 0 removed, 0 unchanged",
		},
		"what comes and goes, in the new order": {
			"flow: [{id: a, resource: a, limit: 1}, {id: b, resource: b, limit: 1}, {id: c, resource: c, limit: 1}]",
			"flow: [{id: d, resource: d, limit: 1}, {id: c, resource: c, limit: 2}, {id: b, resource: b, limit: 1}]",
			"added flow d: at most 1 call in any 1s, the rest is refused\nchanged flow c: limit is raised from 1 to 2\n" +
				"removed flow a: at most 1 call in any 1s, the rest is refused\n1 added, 1 changed, 1 removed, 1 unchanged",
		},
		"order alone is no change": {
			"flow: [{id: a, resource: a, limit: 1}, {id: b, resource: b, limit: 1}]", "flow: [{id: b, resource: b, limit: 1}, {id: a, resource: a, limit: 1}]",
			"0 added, 0 changed, 0 removed, 2 unchanged",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, changes(Compare(read(t, c.before), read(t, c.after))))
		})
	}
}

// Every kind of rules is compared: a document of all kinds differs in all from one without rules.
func TestEveryKindIsCompared(t *testing.T) {
	all := read(t, `flow: [{resource: a, limit: 1}]
concurrency: [{resource: a, limit: 1}]
breaker: [{resource: a, trip: errorRatio, threshold: 0.5}]
isolation: [{service: a}]
param: [{resource: a, param: method, limit: 1}]
system: [{metric: load, limit: 1}]
authority: [{resource: a, deny: [x]}]
apiGroup: [{name: a, paths: [{exact: /a}]}]`)
	kinds := reflect.TypeFor[cordon.Rules]().NumField()
	require.Len(t, all.Lines(), kinds)
	d := Compare(nil, all)
	require.Equal(t, kinds, d.Count(Added))
	for _, c := range d.Changes {
		require.NotEmpty(t, c.After)
		require.Empty(t, c.Before)
	}
	d = Compare(all, nil)
	require.Equal(t, kinds, d.Count(Removed))
	for _, c := range d.Changes {
		require.NotEmpty(t, c.Before)
	}
	require.True(t, Compare(all, all).Same())
	require.True(t, Compare(nil, nil).Same())
}

// Whatever is done to rules, the counts say it, and every changed rule has its fields named.
func TestDiffModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(0, 20).Draw(t, "rules")
		var before, after []flow.Rule
		added, changed, removed := 0, 0, 0
		for i := range n {
			r := flow.Rule{ID: fmt.Sprint(i), Resource: rule.Name("r"), Limit: float64(1 + random.IntN(9)), Per: time.Duration(random.IntN(3)) * time.Second}
			switch random.IntN(4) {
			case 0:
				after, added = append(after, r), added+1
				continue
			case 1:
				removed++
			case 2:
				next := r
				next.Limit++
				after, changed = append(after, next), changed+1
			default:
				after = append(after, r)
			}
			before = append(before, r)
		}
		random.Shuffle(len(after), func(i, j int) { after[i], after[j] = after[j], after[i] })
		d := Compare(&rulefile.Document{Rules: cordon.Rules{Flow: before}}, &rulefile.Document{Rules: cordon.Rules{Flow: after}})
		require.Equal(t, []int{added, changed, removed, n - added - changed - removed}, []int{d.Count(Added), d.Count(Changed), d.Count(Removed), d.Unchanged})
		for _, c := range d.Changes {
			if c.What == Changed {
				require.Len(t, c.Fields, 1)
				require.Contains(t, c.Fields[0].Words, "limit is raised from ")
			}
		}
	})
}

// A rule whose new version is bad is not gone.
func TestRefusedRulesAreNotRemoved(t *testing.T) {
	before := read(t, "flow: [{id: a, resource: a, limit: 1}, {id: b, resource: b, limit: 1}]")
	after, err := rulefile.Read("rules.yaml", []byte("cordon: 1\nflow: [{id: a, resource: a, limit: -1}]\n"), rulefile.As{})
	require.NoError(t, err)
	d := Compare(before, after)
	require.Equal(t, "refused flow a: at most 1 call in any 1s, the rest is refused\nremoved flow b: at most 1 call in any 1s, the rest is refused\n"+
		"0 added, 0 changed, 1 removed, 0 unchanged, 1 refused", strings.ReplaceAll(changes(d), "a: a: ", "a: "))
	require.False(t, d.Same())
}
