package cordongrpc

import (
	"fmt"
	"strings"
)

// methods is a set of full methods.
type methods struct {
	exact    map[string]bool
	services map[string]bool // of which all are in it
	// prefix is what all of them begin with, by which most others are told from them.
	prefix string
}

// defaultExcluded are the methods by which servers are watched and explored.
func defaultExcluded() methods {
	return newMethods("", []string{"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"})
}

// newMethods panics if a method is written as none is, naming the option.
func newMethods(option string, list []string) methods {
	m := methods{exact: map[string]bool{}, services: map[string]bool{}}
	for i, s := range list {
		m.begin(i == 0, "/"+strings.TrimPrefix(s, "/"))
		service, method, full := strings.Cut(strings.TrimPrefix(s, "/"), "/")
		switch {
		case full && strings.HasPrefix(s, "/") && service != "" && method != "" && !strings.ContainsAny(method, "/*"):
			m.exact[s] = true
		case !full && s == service && s != "" && !strings.Contains(s, "*"):
			m.services[s] = true
		default:
			panic(fmt.Sprintf(`cordongrpc: %s: %q is no method; want one as "/orders.Orders/Create", or a service as "orders.Orders"`, option, s))
		}
	}
	return m
}

// begin shortens the prefix to what another method or service begins with too.
func (m *methods) begin(first bool, s string) {
	if first {
		m.prefix = s
	}
	for !strings.HasPrefix(s, m.prefix) {
		m.prefix = m.prefix[:len(m.prefix)-1]
	}
}

// has reports whether a full method is in the set.
func (m methods) has(full string) bool {
	if m.prefix == "" || !strings.HasPrefix(full, m.prefix) {
		return false
	}
	if m.exact[full] {
		return true
	}
	service := strings.TrimPrefix(full, "/")
	if i := strings.LastIndexByte(service, '/'); i >= 0 {
		service = service[:i]
	}
	return m.services[service]
}
