package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cordon-go/cordon/rule"
)

const (
	version      = 1
	maxLength    = 1000 * time.Hour
	minBucket    = 10 * time.Millisecond
	minTick      = time.Millisecond
	maxSeeds     = 10_000
	maxInstances = 100_000
	maxClients   = 1000
	maxViews     = 10_000_000 // clients times instances
	maxCells     = 20_000_000 // buckets times instances
	maxRate      = 1e7
	maxRetries   = 10
)

// faults collects what is wrong with a document, each fault with its field's path and position.
type faults struct {
	doc  *rule.Node // spelled out
	list rule.Problems
}

func (f *faults) add(field, message, want string) {
	f.list = append(f.list, rule.Problem{Index: -1, Field: field, Position: f.doc.Locate(field), Message: message, Want: want})
}

// written reports whether a field is written.
func (f *faults) written(field string) bool {
	n := f.doc
	for _, step := range strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if n.Kind == rule.List {
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(n.Items) {
				return false
			}
			n = &n.Items[i]
		} else if n = n.Field(step); n == nil {
			return false
		}
	}
	return true
}

// given reports whether a number is to be judged: one that is not 0, or a 0 that is written, which is no default.
func (f *faults) given(field string, set bool) bool { return set || f.written(field) }

// positive refuses a duration that is written as 0.
func (f *faults) positive(field string, d time.Duration) {
	if d == 0 && f.written(field) {
		f.add(field, "0 is out of range", "above 0, or no such field for the default")
	}
}

// required refuses a duration that is not above 0.
func (f *faults) required(field string, d time.Duration) {
	switch {
	case d > 0:
	case f.written(field):
		f.add(field, "0 is out of range", "above 0")
	default:
		f.add(field, "is missing", "a duration above 0")
	}
}

// count refuses a count that is out of range, unless it is left out.
func (f *faults) count(field string, n, most int) {
	if f.given(field, n != 0) && (n < 1 || n > most) {
		f.add(field, fmt.Sprintf("%d is out of range", n), fmt.Sprintf("1 to %d, or no such field for 1", most))
	}
}

func (f *faults) share(field string, share float64) {
	if !(share >= 0 && share <= 1) {
		f.add(field, fmt.Sprintf("%v is no share", share), "0 to 1")
	}
}

func (f *faults) notNegative(field string, x float64) {
	if !(x >= 0) || math.IsInf(x, 0) {
		f.add(field, fmt.Sprintf("%v is out of range", x), "0 or more")
	}
}

func (f *faults) span(field string, from, until time.Duration) {
	if f.written(field+".until") && until <= from {
		f.add(field+".until", fmt.Sprintf("%v is not after the beginning, %v", until, from), "a later end, or no such field for the end of the scenario")
	}
}

// document checks everything but the rules.
func (f *faults) document(d *Document) {
	switch {
	case !f.written("cordon-sim"):
		f.add("cordon-sim", "the key that marks a scenario is missing", "cordon-sim: 1")
	case d.Version != version:
		f.add("cordon-sim", fmt.Sprintf("unknown version of the document: %d", d.Version), "1")
	}
	f.required("length", d.Length)
	if d.Length > maxLength {
		f.add("length", fmt.Sprintf("%v is out of range", d.Length), fmt.Sprintf("at most %v", maxLength))
	}
	f.count("seeds", d.Seeds, maxSeeds)
	if f.given("bucket", d.Bucket != 0) && d.Bucket < minBucket {
		f.add("bucket", fmt.Sprintf("%v is out of range", d.Bucket), fmt.Sprintf("%v or more", minBucket))
	}
	if f.given("tick", d.Tick != 0) && d.Tick < minTick {
		f.add("tick", fmt.Sprintf("%v is out of range", d.Tick), fmt.Sprintf("%v or more", minTick))
	}
	instances := f.instances(d)
	f.regions(d)
	f.scripts("common", d.Common)
	clients := f.clients(d)
	f.patience(d)
	if len(f.list) == 0 {
		f.size(d, instances, clients)
	}
	labels := make(map[string]int, len(d.Policies))
	for i, p := range d.Policies {
		field := fmt.Sprintf("policies[%d]", i)
		f.policy(field, p)
		label := p.build(nil).String()
		if first, ok := labels[label]; ok {
			f.add(field, fmt.Sprintf("is called %q as policies[%d] is", label, first), "each once: a label tells them apart")
		}
		labels[label] = i
	}
}

// size refuses what is larger than can be simulated.
func (f *faults) size(d *Document, instances, clients int) {
	if instances > maxInstances {
		f.add("instances", fmt.Sprintf("are %d", instances), fmt.Sprintf("at most %d", maxInstances))
	}
	if clients > maxClients {
		f.add("clients", fmt.Sprintf("are %d", clients), fmt.Sprintf("at most %d", maxClients))
	}
	if views := instances * clients; views > maxViews {
		f.add("clients", fmt.Sprintf("make %d views of instances", views), fmt.Sprintf("at most %d: fewer clients, or fewer instances", maxViews))
	}
	if d.Bucket > 0 && float64(d.Length)/float64(d.Bucket)*float64(instances) > maxCells {
		f.add("bucket", fmt.Sprintf("%v makes too many points", d.Bucket), fmt.Sprintf("a longer one: at most %d, buckets times instances", maxCells))
	}
}

// instances returns how many there are.
func (f *faults) instances(d *Document) int {
	if len(d.Instances) == 0 {
		f.add("instances", "are missing", "at least one")
	}
	total := 0
	addresses := make(map[string]string)
	for i := range d.Instances {
		in := &d.Instances[i]
		field := fmt.Sprintf("instances[%d]", i)
		f.count(field+".count", in.Count, maxInstances)
		for _, address := range in.addresses(total) {
			if first, ok := addresses[address]; ok {
				f.add(field+".name", fmt.Sprintf("%q is an address of %s already", address, first), "each once")
				break
			}
			addresses[address] = field
		}
		if total += max(in.Count, 1); total > maxInstances {
			f.add(field+".count", fmt.Sprintf("makes it %d instances", total), fmt.Sprintf("at most %d", maxInstances))
			return total
		}
		if f.given(field+".weight", in.Weight != 0) && (!(in.Weight > 0) || math.IsInf(in.Weight, 0)) {
			f.add(field+".weight", fmt.Sprintf("%v is no weight", in.Weight), "above 0")
		}
		f.share(field+".base.failures", in.Base.Failures)
		f.share(field+".base.throttles", in.Base.Throttles)
		f.latency(field+".base.latency", in.Base.Latency)
		f.scripts(field+".ill", in.Ill)
		for j, s := range in.Absent {
			f.span(fmt.Sprintf("%s.absent[%d]", field, j), s.From, s.Until)
		}
		for j, s := range in.Drained {
			f.span(fmt.Sprintf("%s.drained[%d]", field, j), s.From, s.Until)
		}
		f.notNegative(field+".capacity", in.Capacity)
		f.notNegative(field+".workers", float64(in.Workers))
		f.notNegative(field+".queue", float64(in.Queue))
		if in.Queue > 0 && in.Workers == 0 {
			f.add(field+".queue", "is a line for no workers", "workers, or no such field")
		}
	}
	return total
}

func (f *faults) regions(d *Document) {
	known := make(map[string]bool)
	for i := range d.Instances {
		known[d.Instances[i].Region] = true
	}
	met := make(map[string]int)
	for i := range d.Regions {
		r := &d.Regions[i]
		field := fmt.Sprintf("regions[%d]", i)
		first, again := met[r.Name]
		switch {
		case r.Name == "":
			f.add(field+".name", "is missing", "the region of some instances")
		case !known[r.Name]:
			f.add(field+".name", fmt.Sprintf("no instance stands in %q", r.Name), "the region of some instances")
		case again:
			f.add(field+".name", fmt.Sprintf("%q is regions[%d] already", r.Name, first), "each once, with all its scripts")
		}
		met[r.Name] = i
		if len(r.Ill) == 0 {
			f.add(field+".ill", "is missing", "at least one script")
		}
		f.scripts(field+".ill", r.Ill)
	}
}

// clients returns how many there are.
func (f *faults) clients(d *Document) int {
	if len(d.Clients) == 0 {
		f.add("clients", "are missing", "at least one")
	}
	total := 0
	for i := range d.Clients {
		c := &d.Clients[i]
		field := fmt.Sprintf("clients[%d]", i)
		f.count(field+".count", c.Count, maxClients)
		total += min(max(c.Count, 1), maxClients)
		f.positive(field+".timeout", c.Timeout)
		f.loads(field+".load", c.Load)
		f.retry(field+".retry", &c.Retry)
		if f.written(field + ".policy") {
			f.policy(field+".policy", c.Policy)
		}
	}
	return total
}

// patience refuses clients that would wait for ever: their calls to an instance that hangs would never fail, and so nobody would see them.
func (f *faults) patience(d *Document) {
	where := d.hangs()
	if where == "" {
		return
	}
	for i := range d.Clients {
		if field := fmt.Sprintf("clients[%d].timeout", i); d.Clients[i].Timeout == 0 && !f.written(field) {
			f.add(field, "is missing, and "+where+" hangs: its calls would never end", "a duration above 0")
		}
	}
}

// hangs returns the field that makes an instance hang, "" if none does.
func (d *Document) hangs() string {
	scripts := func(field string, list []Script) string {
		for i := range list {
			if list[i].Hangs {
				return fmt.Sprintf("%s[%d]", field, i)
			}
		}
		return ""
	}
	for i := range d.Instances {
		field := fmt.Sprintf("instances[%d]", i)
		if d.Instances[i].Base.Hangs {
			return field + ".base"
		}
		if where := scripts(field+".ill", d.Instances[i].Ill); where != "" {
			return where
		}
	}
	for i := range d.Regions {
		if where := scripts(fmt.Sprintf("regions[%d].ill", i), d.Regions[i].Ill); where != "" {
			return where
		}
	}
	return scripts("common", d.Common)
}

func (f *faults) loads(field string, loads []Stream) {
	if len(loads) == 0 {
		f.add(field, "is missing", "calls per second")
	}
	for i := range loads {
		l := &loads[i]
		at := fmt.Sprintf("%s[%d]", field, i)
		f.rate(at+".rate", l.Rate)
		if !f.written(at+".rate") && len(l.Changes) == 0 {
			f.add(at+".rate", "is missing", "calls per second")
		}
		last := time.Duration(0)
		for j, c := range l.Changes {
			change := fmt.Sprintf("%s.changes[%d]", at, j)
			if !f.written(change + ".at") {
				f.add(change+".at", "is missing", "a time")
			} else if c.At < last {
				f.add(change+".at", fmt.Sprintf("%v is before the last one, %v", c.At, last), "changes in order of time")
			}
			last = max(last, c.At)
			if !f.written(change + ".rate") {
				f.add(change+".rate", "is missing", "calls per second")
			}
			f.rate(change+".rate", c.Rate)
		}
	}
}

func (f *faults) rate(field string, rate float64) {
	if !(rate >= 0 && rate <= maxRate) {
		f.add(field, fmt.Sprintf("%v is out of range", rate), fmt.Sprintf("0 to %.0f calls per second", maxRate))
	}
}

func (f *faults) retry(field string, r *Retry) {
	if r.Max < 0 || r.Max > maxRetries {
		f.add(field+".max", fmt.Sprintf("%d is out of range", r.Max), fmt.Sprintf("0 to %d", maxRetries))
	}
	if f.given(field+".budget", r.Budget != 0) && !(r.Budget > 0 && r.Budget <= 1) {
		f.add(field+".budget", fmt.Sprintf("%v is out of range", r.Budget), "a share of the calls above 0 up to 1, or no such field for no limit")
	}
	if f.given(field+".budgetMin", r.BudgetMin != 0) && (!(r.BudgetMin > 0) || math.IsInf(r.BudgetMin, 0)) {
		f.add(field+".budgetMin", fmt.Sprintf("%v is out of range", r.BudgetMin), "retries per second above 0")
	}
	for _, key := range []string{"wait", "budget", "budgetMin"} {
		if r.Max == 0 && f.written(field+"."+key) {
			f.add(field+"."+key, "is of no use, since nothing is tried again", "max")
		}
	}
}
