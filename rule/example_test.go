package rule_test

import (
	"fmt"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// quota is a kind of rule: a struct with tags and a few methods.
type quota struct {
	ID       string        `rule:"id"`
	Resource rule.Match    `rule:"resource"`
	Limit    int           `rule:"limit"`
	Per      time.Duration `rule:"per"`
}

func (q quota) Meta() rule.Meta        { return rule.Meta{ID: q.ID, Resource: q.Resource} }
func (q quota) WithID(id string) quota { q.ID = id; return q }
func (q quota) Equal(o quota) bool     { return q == o }
func (q quota) Problems() []rule.Problem {
	var found []rule.Problem
	if err := q.Resource.Check(); err != nil {
		found = append(found, rule.Problem{Field: "resource", Message: err.Error()})
	}
	if q.Limit < 0 {
		found = append(found, rule.Problem{Field: "limit", Message: fmt.Sprint(q.Limit, " is negative"), Want: "0 or more"})
	}
	return found
}

// Every fault of a document is found, with its place and what would be right.
func ExampleDecodeList() {
	document, err := rule.Parse([]byte(`
quota:
  - {id: orders, resource: orders.Create, limt: 100}
  - {id: search, resource: {wildcard: "/search/*"}, limit: -1, per: 2d}
  - {id: rest, resource: {default: true}, limit: 10, per: 1s}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	quotas, bad, problems := rule.DecodeList[quota](document.Field("quota"), "quota", "rules.yaml")
	fmt.Println(problems)
	fmt.Println(bad, quotas[2].Resource, quotas[2].Per)
	// Output:
	// rules.yaml:3:43: quota[0] (orders): unknown field "limt"; did you mean "limit"?
	// rules.yaml:4:60: quota[1] (search): limit: -1 is negative; want 0 or more
	// rules.yaml:4:69: quota[1] (search): per: "2d" has a unit that is not known; ns, us, ms, s, m and h are; want it in hours: "48h"
	// [true true false] {default: true} 1s
}

// The most specific layer wins.
func ExampleIndex() {
	index := rule.NewIndex([]quota{
		{ID: "rest", Resource: rule.Default()},
		{ID: "api", Resource: rule.Regex(`/api/v\d+/.*`)},
		{ID: "search", Resource: rule.Wildcard("/api/*/search")},
		{ID: "first", Resource: rule.Name("/api/v1/search")},
	})
	for _, name := range []string{"/api/v1/search", "/api/v2/search", "/api/v2/orders", "/health"} {
		rules, byName := index.Match(name)
		fmt.Println(name, rules[0].ID, byName)
	}
	// Output:
	// /api/v1/search first true
	// /api/v2/search search false
	// /api/v2/orders api false
	// /health rest false
}

func ExampleMatcher() {
	m, err := rule.Wildcard("/search/*").Compile()
	fmt.Println(m.Matches("/search/books"), m.Matches("/search"), err)
	_, err = rule.Regex("/api/(").Compile()
	fmt.Println(err)
	// Output:
	// true false <nil>
	// regex "/api/(" is not valid: missing closing ) in "/api/("
}

func ExampleEncode() {
	document, err := rule.Encode(struct {
		Version int     `rule:"version"`
		Quota   []quota `rule:"quota"`
	}{1, []quota{{ID: "search", Resource: rule.Wildcard("/search/*"), Limit: 50, Per: 90 * time.Second}}})
	fmt.Print(string(document.YAML()), err)
	// Output:
	// version: 1
	// quota:
	//   - id: search
	//     resource: {wildcard: "/search/*"}
	//     limit: 50
	//     per: 1m30s
	// <nil>
}

func ExampleDiff() {
	old := []quota{{ID: "a", Limit: 1}, {ID: "b", Limit: 2}}
	added, changed, removed, unchanged := rule.Diff("quota", old, []quota{{ID: "b", Limit: 3}, {ID: "c"}})
	fmt.Println(added, changed, removed, unchanged)
	// Output:
	// [{quota c []}] [{quota b [limit]}] [{quota a []}] 0
}
