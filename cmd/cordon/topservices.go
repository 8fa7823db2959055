package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/isolation"
)

// serviceLines tells how services stand, and under those of which there is something to tell, their instances. These services come first, and of the
// instances those that do not just serve, so that what is cut off for want of room tells the least.
func serviceLines(p *screen.Screen, services []isolation.Snapshot) []string {
	if len(services) == 0 {
		return nil
	}
	services = slices.Clone(services)
	slices.SortStableFunc(services, func(a, b isolation.Snapshot) int { return rank(troubled(b)) - rank(troubled(a)) })
	rows := [][]string{{"SERVICE", "STATE", "WEIGHT", "CALLS", "FAILED", "IN FLIGHT", "STRIKES", "LEFT", "WHY"}}
	for _, s := range services {
		rows = append(rows, serviceRow(p, s))
		if !troubled(s) {
			continue
		}
		instances := slices.Clone(s.Instances)
		slices.SortStableFunc(instances, func(a, b isolation.InstanceSnapshot) int { return rank(!serves(b)) - rank(!serves(a)) })
		for _, i := range instances {
			rows = append(rows, instanceRow(p, i))
		}
	}
	return append([]string{""}, table(p, rows, 1)...)
}

// rank orders what is so behind what is not.
func rank(so bool) int {
	if so {
		return 1
	}
	return 0
}

func serves(i isolation.InstanceSnapshot) bool { return i.State == isolation.InService }

// troubled reports whether there is something to tell of the service's instances.
func troubled(s isolation.Snapshot) bool {
	return s.Fallback || slices.ContainsFunc(s.Instances, func(i isolation.InstanceSnapshot) bool { return !serves(i) })
}

// serviceRow is a service in one line, its numbers added up.
func serviceRow(p *screen.Screen, s isolation.Snapshot) []string {
	var calls, failures int64
	inFlight := 0
	for _, i := range s.Instances {
		calls, failures, inFlight = calls+i.Calls, failures+i.Failures, inFlight+i.InFlight
	}
	return []string{
		ofGroup(s.Service, s.Group), serviceState(p, s), "", fmt.Sprint(calls), fmt.Sprint(failures), fmt.Sprint(inFlight), "", "", serviceHistory(s),
	}
}

// ofGroup is the name of a service, with that of one of its groups: of a route. A route's name is mostly that of its service.
func ofGroup(service, group string) string {
	if group == "" || group == service {
		return service
	}
	return service + " (" + group + ")"
}

// serviceState says how many of a service's instances are in service, of those that may be called: drained ones may not, and of unreachable ones it says so.
func serviceState(p *screen.Screen, s isolation.Snapshot) string {
	listed, in, unreachable := 0, 0, 0
	for _, i := range s.Instances {
		switch i.State {
		case isolation.Drained:
		case isolation.Unreachable:
			unreachable++
		default:
			listed, in = listed+1, in+rank(i.Weight > 0)
		}
	}
	style := screen.Green
	text := fmt.Sprintf("%d of %d in service", in, listed)
	if s.Held > 0 {
		style, text = screen.Yellow, text+fmt.Sprintf(", %d held", s.Held)
	}
	if unreachable > 0 {
		style, text = screen.Yellow, text+fmt.Sprintf(", %d unreachable", unreachable)
	}
	switch {
	case s.Out > 0 && s.Shadow:
		style, text = screen.Yellow, text+fmt.Sprintf(", %d would be out", s.Out)
	case in < listed:
		style = screen.Yellow
	}
	switch {
	case s.Fallback:
		style, text = screen.Red, "FALLBACK, "+text
	case len(s.Instances) == 0:
		style, text = screen.Red, "no instances"
	}
	return p.Paint(style, text)
}

// serviceHistory says what the service's rule is and has done.
func serviceHistory(s isolation.Snapshot) string {
	if s.RuleID == "" {
		return "no rule"
	}
	parts := []string{"rule " + s.RuleID}
	if s.Shadow {
		parts[0] += " (shadow)"
	}
	if s.Quarantines > 0 {
		parts = append(parts, plural(s.Quarantines, "quarantine"))
	}
	if s.Fallbacks > 0 {
		parts = append(parts, plural(s.Fallbacks, "fallback"))
	}
	return strings.Join(parts, ", ")
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// instanceRow is one instance in one line.
func instanceRow(p *screen.Screen, i isolation.InstanceSnapshot) []string {
	name := "  " + i.Address
	if i.Region != "" {
		name += " (" + i.Region + ")"
	}
	left := ""
	if i.Left > 0 {
		left = fmt.Sprintf("%.1fs", i.Left.Seconds())
	}
	strikes := ""
	if i.Strikes > 0 {
		strikes = fmt.Sprintf("%.1f", i.Strikes)
	}
	return []string{
		name, instanceState(p, i.State), fmt.Sprintf("%.3g", i.Weight), fmt.Sprint(i.Calls), fmt.Sprint(i.Failures), fmt.Sprint(i.InFlight),
		strikes, left, oneLine(i.Reason),
	}
}

func instanceState(p *screen.Screen, s isolation.State) string {
	style := screen.Yellow
	switch s {
	case isolation.InService:
		style = screen.Green
	case isolation.Quarantined, isolation.PinnedOut:
		style = screen.Red
	}
	return p.Paint(style, s.String())
}
