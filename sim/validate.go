package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

const (
	maxLength    = 1000 * time.Hour
	minBucket    = 10 * time.Millisecond
	minTick      = time.Millisecond
	maxRate      = 1e7
	maxCells     = 20_000_000 // of the series: rows times instances
	maxInstances = 100_000
	maxRetries   = 10
)

// Validate returns all that is wrong with the scenario: what, where, and what would be right. It is nil for a good one.
func (s *Scenario) Validate() error {
	_, err := s.normal()
	return err
}

// faults collects what is wrong.
type faults []error

func (f *faults) add(format string, args ...any) {
	*f = append(*f, fmt.Errorf("sim: "+format, args...))
}

// normal returns the scenario with its defaults filled in, as a copy that shares nothing that Run writes.
func (s *Scenario) normal() (Scenario, error) {
	n := *s
	var f faults
	if n.Length <= 0 || n.Length > maxLength {
		f.add("length: %v; want above 0 up to %v", n.Length, maxLength)
		n.Length = time.Second
	}
	if n.Bucket == 0 {
		n.Bucket = max(n.Length/100, minBucket)
	}
	if n.Tick == 0 {
		n.Tick = 100 * time.Millisecond
	}
	if n.Bucket < minBucket {
		f.add("bucket: %v; want at least %v", n.Bucket, minBucket)
		n.Bucket = n.Length
	}
	if n.Tick < minTick {
		f.add("tick: %v; want at least %v", n.Tick, minTick)
	}
	if n.Grace < 0 {
		f.add("grace: %v; want 0 or more", n.Grace)
	}
	if cells := float64(n.rows()) * float64(len(n.Instances)); cells > maxCells {
		f.add("bucket: %v makes %.0f figures of %d instances; want at most %d: a longer bucket", n.Bucket, cells, len(n.Instances), maxCells)
	}
	n.Instances = normalInstances(s.Instances, &f)
	for i, script := range n.Common {
		f.script(fmt.Sprintf("common[%d]", i), script)
	}
	n.Clients = normalClients(s.Clients, &n, &f)
	return n, errors.Join(f...)
}

// rows is how many buckets there are.
func (s *Scenario) rows() int { return int((s.Length + s.Bucket - 1) / s.Bucket) }

func normalInstances(given []Instance, f *faults) []Instance {
	list := slices.Clone(given)
	if len(list) == 0 || len(list) > maxInstances {
		f.add("instances: %d; want 1 to %d", len(list), maxInstances)
	}
	at := make(map[string]int, len(list))
	for i := range list {
		in := &list[i]
		if in.Address == "" {
			in.Address = "i" + strconv.Itoa(i)
		}
		if in.Weight == 0 {
			in.Weight = 1
		}
		where := fmt.Sprintf("instances[%d] (%s)", i, in.Address)
		if first, ok := at[in.Address]; ok {
			f.add("%s: instances[%d] has the same address; want each once", where, first)
		}
		at[in.Address] = i
		if !(in.Weight > 0) || math.IsInf(in.Weight, 0) {
			f.add("%s: weight: %v; want above 0", where, in.Weight)
		}
		f.condition(where+": base", &in.Base)
		for j, script := range in.Ill {
			f.script(fmt.Sprintf("%s: ill[%d]", where, j), script)
		}
		for j, span := range in.Absent {
			f.span(fmt.Sprintf("%s: absent[%d]", where, j), span)
		}
		for j, span := range in.Drained {
			f.span(fmt.Sprintf("%s: drained[%d]", where, j), span)
		}
		if !(in.Capacity >= 0) {
			f.add("%s: capacity: %v calls per second; want above 0, or 0 for any number", where, in.Capacity)
		}
		if in.Workers < 0 || in.Queue < 0 {
			f.add("%s: %d workers, a queue of %d; want 0 or more", where, in.Workers, in.Queue)
		}
		if in.Guard.waits() {
			f.add("%s: guard: a rule makes calls wait; want rules that refuse at once: an instance's own line is its queue", where)
		}
	}
	return list
}

func normalClients(given []Client, s *Scenario, f *faults) []Client {
	list := slices.Clone(given)
	if len(list) == 0 {
		f.add("clients: none; want at least one")
	}
	for i := range list {
		c := &list[i]
		if c.Name == "" {
			c.Name = "c" + strconv.Itoa(i)
		}
		where := fmt.Sprintf("clients[%d] (%s)", i, c.Name)
		if c.Timeout < 0 {
			f.add("%s: timeout: %v; want above 0, or 0 for none", where, c.Timeout)
		}
		if c.Retry.BudgetMin == 0 {
			c.Retry.BudgetMin = 3
		}
		r := &c.Retry
		if r.Max < 0 || r.Max > maxRetries {
			f.add("%s: retry.max: %d; want 0 to %d", where, r.Max, maxRetries)
		}
		if r.Wait < 0 {
			f.add("%s: retry.wait: %v; want 0 or more", where, r.Wait)
		}
		if !(r.Budget >= 0 && r.Budget <= 1) {
			f.add("%s: retry.budget: %v; want a share of the calls above 0 up to 1, or 0 for no limit", where, r.Budget)
		}
		if !(r.BudgetMin >= 0) {
			f.add("%s: retry.budgetMin: %v; want 0 or more per second", where, r.BudgetMin)
		}
		c.Loads = slices.Clone(c.Loads)
		if len(c.Loads) == 0 {
			f.add("%s: loads: none; want at least one", where)
		}
		for j := range c.Loads {
			l := &c.Loads[j]
			if l.Resource == "" {
				l.Resource = s.Name
			}
			f.load(fmt.Sprintf("%s: loads[%d]", where, j), l)
		}
	}
	return list
}

func (f *faults) load(where string, l *Load) {
	f.rate(where+": rate", l.Rate)
	last := time.Duration(0)
	for i, c := range l.Changes {
		at := fmt.Sprintf("%s: changes[%d]", where, i)
		f.rate(at+": rate", c.Rate)
		if c.At < last {
			f.add("%s: at: %v; want %v or later: changes are in order of time", at, c.At, last)
		}
		last = max(c.At, last)
	}
}

func (f *faults) rate(where string, rate float64) {
	if !(rate >= 0 && rate <= maxRate) {
		f.add("%s: %v calls per second; want 0 to %.0f", where, rate, maxRate)
	}
}

func (f *faults) share(where string, share float64) {
	if !(share >= 0 && share <= 1) {
		f.add("%s: %v; want a share, 0 to 1", where, share)
	}
}

func (f *faults) span(where string, s Span) {
	if s.From < 0 || s.Until != 0 && s.Until <= s.From {
		f.add("%s: from %v until %v; want an end after the beginning, or 0 for none", where, s.From, s.Until)
	}
}

func (f *faults) condition(where string, c *Condition) {
	f.share(where+": failures", c.Failures)
	f.share(where+": throttles", c.Throttles)
	f.latency(where+": latency", c.Latency)
}

func (f *faults) latency(where string, l Latency) {
	switch l := l.(type) {
	case Fixed:
		if l < 0 {
			f.add("%s: %v; want 0 or more", where, time.Duration(l))
		}
	case Uniform:
		if l.Min < 0 || l.Max < l.Min {
			f.add("%s: %v to %v; want 0 or more, the smaller first", where, l.Min, l.Max)
		}
	case Exponential:
		if l.Min < 0 || l.Mean < 0 {
			f.add("%s: %v and a mean of %v on top; want 0 or more", where, l.Min, l.Mean)
		}
	case LogNormal:
		if l.Median <= 0 || l.P99 < l.Median {
			f.add("%s: a median of %v and a p99 of %v; want a median above 0 and a p99 not below it", where, l.Median, l.P99)
		}
	}
}

// script looks at scripts of this package; others look after themselves.
func (f *faults) script(where string, script Script) {
	switch s := script.(type) {
	case nil:
		f.add("%s: nil; want a script", where)
	case During:
		f.span(where, s.Span)
		f.condition(where, &s.Condition)
	case Flapping:
		f.span(where, s.Span)
		f.condition(where, &s.Condition)
		f.positive(where+": bad", s.Bad)
		f.positive(where+": good", s.Good)
	case Noisy:
		f.span(where, s.Span)
		f.positive(where+": every", s.Every)
		f.shares(where, s.Min, s.Max)
	case Shocks:
		f.span(where, s.Span)
		f.positive(where+": every", s.Every)
		f.shares(where, s.Min, s.Max)
		if s.Shortest < 0 || s.Longest < s.Shortest {
			f.add("%s: shortest %v, longest %v; want 0 or more, the shorter first", where, s.Shortest, s.Longest)
		}
	case Restart:
		f.positive(where+": down", s.Down)
		f.latency(where+": slow", s.Slow)
		if s.At < 0 || s.Warmup < 0 {
			f.add("%s: at %v, warmup %v; want 0 or more", where, s.At, s.Warmup)
		}
		if s.Every != 0 && s.Every < s.Down+s.Warmup {
			f.add("%s: every: %v; want 0 for never again, or at least down and warmup, %v", where, s.Every, s.Down+s.Warmup)
		}
	}
}

func (f *faults) positive(where string, d time.Duration) {
	if d <= 0 {
		f.add("%s: %v; want above 0", where, d)
	}
}

func (f *faults) shares(where string, lo, hi float64) {
	f.share(where+": min", lo)
	f.share(where+": max", hi)
	if lo > hi {
		f.add("%s: min %v, max %v; want the smaller first", where, lo, hi)
	}
}
