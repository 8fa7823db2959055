package cordon

import (
	"slices"

	"github.com/cordon-go/cordon/apigroup"
)

// APIGroups appends to dst the names of the groups of request paths that a path belongs to (Rules.APIGroup), in written order, each once. The path is that of a request as the client wrote it,
// without query. Adapters enter a request's own resource first, and then that of each of its groups. It takes a few nanoseconds where no rules have groups, and allocates nothing but what append may
// need.
func (e *Engine) APIGroups(dst []string, path string) []string {
	return e.set.Load().apiGroups.Match(dst, path)
}

// compileGroups makes groups, which were checked, ready, taking over what old has compiled.
func compileGroups(old *ruleset, groups []ref[apigroup.Group]) *apigroup.Set {
	if len(groups) == 0 {
		return nil
	}
	if slices.Equal(old.apiGroup, groups) {
		return old.apiGroups
	}
	set, err := old.apiGroups.Update(deref(groups))
	if err != nil {
		panic(err) // groups with a fault are never put in force
	}
	return set
}

// ownGroups returns groups whose slices are nobody else's.
func ownGroups(groups []apigroup.Group) []apigroup.Group {
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].Paths = slices.Clone(groups[i].Paths)
	}
	return groups
}
