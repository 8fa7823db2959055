package cordongrpc

import (
	"fmt"
	"strings"
)

// methods is a set of full methods.
type methods struct {
	exact    map[string]bool
	services map[string]bool // of which all are in it
}

// defaultExcluded are the methods by which servers are watched and explored.
func defaultExcluded() methods {
	return methods{services: map[string]bool{
		"grpc.health.v1.Health": true, "grpc.reflection.v1.ServerReflection": true, "grpc.reflection.v1alpha.ServerReflection": true,
	}}
}

// newMethods panics if a method is written as none is, naming the option.
func newMethods(option string, list []string) methods {
	m := methods{exact: map[string]bool{}, services: map[string]bool{}}
	for _, s := range list {
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

// has reports whether a full method is in the set.
func (m methods) has(full string) bool {
	if m.exact[full] {
		return true
	}
	if len(m.services) == 0 {
		return false
	}
	service := strings.TrimPrefix(full, "/")
	if i := strings.LastIndexByte(service, '/'); i >= 0 {
		service = service[:i]
	}
	return m.services[service]
}
