package scenario

import (
	"strconv"

	"github.com/cordon-go/cordon/sim"
)

// addresses returns the addresses of the instances, of which the first is the one at that place among all.
func (in *Instances) addresses(first int) []string {
	n := min(max(in.Count, 1), maxInstances)
	if in.Name == "" {
		return names("i", first, n)
	}
	if n == 1 {
		return []string{in.Name}
	}
	return names(in.Name+"-", 0, n)
}

func (c *Clients) names(first int) []string {
	n := min(max(c.Count, 1), maxClients)
	if c.Name == "" {
		return names("c", first, n)
	}
	if n == 1 {
		return []string{c.Name}
	}
	return names(c.Name+"-", 0, n)
}

// names returns n names that are numbered on.
func names(prefix string, first, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = prefix + strconv.Itoa(first+i)
	}
	return list
}

// build returns the kit's scenario, without policies and guards.
func (d *Document) build() sim.Scenario {
	s := sim.Scenario{
		Name: d.Service, Length: d.Length, Seed: d.Seed, Bucket: d.Bucket, Tick: d.Tick, Grace: d.Grace, Common: buildScripts(d.Common),
	}
	for i := range d.Instances {
		in := &d.Instances[i]
		like := sim.Instance{
			Weight: in.Weight, Region: in.Region, Base: in.Base.build(), Ill: buildScripts(in.Ill), Absent: buildSpans(in.Absent), Drained: buildSpans(in.Drained),
			Capacity: in.Capacity, Workers: in.Workers, Queue: in.Queue,
		}
		for j := range d.Regions {
			if d.Regions[j].Name == in.Region {
				like.Ill = append(like.Ill, buildScripts(d.Regions[j].Ill)...)
			}
		}
		for _, address := range in.addresses(len(s.Instances)) {
			like.Address = address
			s.Instances = append(s.Instances, like)
		}
	}
	for i := range d.Clients {
		c := &d.Clients[i]
		like := sim.Client{
			Region: c.Region, Timeout: c.Timeout,
			Retry: sim.Retry{Max: c.Retry.Max, Wait: c.Retry.Wait, Budget: c.Retry.Budget, BudgetMin: c.Retry.BudgetMin},
		}
		for _, l := range c.Load {
			load := sim.Load{Resource: l.Resource, Rate: l.Rate, Steady: l.Steady}
			for _, change := range l.Changes {
				load.Changes = append(load.Changes, sim.RateChange{At: change.At, Rate: change.Rate})
			}
			like.Loads = append(like.Loads, load)
		}
		for _, name := range c.names(len(s.Clients)) {
			like.Name = name
			s.Clients = append(s.Clients, like)
		}
	}
	return s
}

func buildSpans(spans []Span) []sim.Span {
	var list []sim.Span
	for _, s := range spans {
		list = append(list, sim.Span{From: s.From, Until: s.Until})
	}
	return list
}
