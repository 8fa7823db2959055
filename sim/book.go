package sim

import (
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// book writes the result while the scenario is played.
type book struct {
	result Result
	row    *Bucket
	views  []view // clients times instances
	open   []int  // absences that have not ended, by place
	weight []float64
	// By instance: the illness it has, by place, or none; and when the last one ended.
	illness []int32
	cured   []time.Duration
	left    map[place]bool // the regions that were left
}

// never is the time of what never was, long before the beginning.
const never = -Forever / 2

// view is what a client makes of an instance.
type view struct {
	tries  int64
	onset  int64 // tries at the onset of the illness
	out    bool
	absent bool // an absence is open
}

func (b *book) begin(s *Scenario) {
	n := len(s.Instances)
	b.result.Scenario = *s
	b.views = make([]view, n*len(s.Clients))
	b.weight = make([]float64, n)
	b.illness = make([]int32, n)
	b.left = make(map[place]bool)
	b.cured = make([]time.Duration, n)
	for i := range n {
		b.illness[i] = none
		b.cured[i] = never
	}
	b.result.Instances = make([]InstanceResult, n)
	for i := range n {
		b.result.Instances[i].Address, b.result.Instances[i].Region = s.Instances[i].Address, s.Instances[i].Region
	}
	b.result.Clients = make([]ClientResult, len(s.Clients))
	for i := range s.Clients {
		b.result.Clients[i].Name = s.Clients[i].Name
	}
	b.result.Series = make([]Bucket, s.rows())
	cells := make([]BucketInstance, n*len(b.result.Series))
	for i := range b.result.Series {
		b.result.Series[i] = Bucket{From: time.Duration(i) * s.Bucket, Instances: cells[i*n : (i+1)*n : (i+1)*n]}
	}
	b.row = &b.result.Series[0]
}

func (b *book) view(client int32, instance int) *view {
	return &b.views[int(client)*len(b.illness)+instance]
}

func (b *book) called(client int32) {
	b.row.Counts.Calls++
	b.result.Clients[client].Counts.Calls++
}

func (b *book) blocked(client int32) {
	b.row.Counts.Blocked++
	b.result.Clients[client].Counts.Blocked++
	b.failed(client)
}

func (b *book) noInstance(client int32) {
	b.row.Counts.NoInstance++
	b.result.Clients[client].Counts.NoInstance++
	b.failed(client)
}

func (b *book) failed(client int32) {
	b.row.Counts.Failed++
	b.result.Clients[client].Counts.Failed++
}

func (b *book) succeeded(client int32, latency time.Duration) {
	b.row.Counts.Latency += latency
	b.result.Clients[client].Counts.Latency += latency
}

func (b *book) tried(client int32, c *Choice, retry bool) {
	all, own := &b.row.Counts, &b.result.Clients[client].Counts
	all.Tries++
	own.Tries++
	b.row.Instances[c.ID].Tries++
	b.result.Instances[c.ID].Tries++
	b.view(client, c.ID).tries++
	if retry {
		all.Retries++
		own.Retries++
	}
	if c.Probe {
		all.Probes++
		own.Probes++
		b.result.Instances[c.ID].Probes++
	}
}

func (b *book) failedTry(client, instance int32, timeout bool) {
	all, own := &b.row.Counts, &b.result.Clients[client].Counts
	all.Failures++
	own.Failures++
	b.row.Instances[instance].Failures++
	b.result.Instances[instance].Failures++
	if timeout {
		all.Timeouts++
		own.Timeouts++
	}
}

func (b *book) flight(instance, n int) {
	r := &b.result.Instances[instance]
	r.MaxInFlight = max(r.MaxInFlight, n)
}

// fallIll is the onset of an illness.
func (b *book) fallIll(now time.Duration, instance int) {
	il := Illness{Instance: instance, From: now, Until: Forever, Found: make([]Find, len(b.result.Clients))}
	for c := range il.Found {
		v := b.view(int32(c), instance)
		v.onset = v.tries
		if v.out || b.left[place{c, b.result.Instances[instance].Region}] {
			il.Found[c].Found = true
		}
	}
	b.illness[instance] = int32(len(b.result.Illnesses))
	b.result.Illnesses = append(b.result.Illnesses, il)
}

// recovered is the cure of an illness.
func (b *book) recovered(now time.Duration, instance int) {
	b.result.Illnesses[b.illness[instance]].Until = now
	b.missed(instance)
	b.illness[instance] = none
	b.cured[instance] = now
}

// missed notes how many tries those clients sent to an instance that did not find its illness.
func (b *book) missed(instance int) {
	for c := range b.result.Clients {
		if f := &b.result.Illnesses[b.illness[instance]].Found[c]; !f.Found {
			v := b.view(int32(c), instance)
			f.Tries = v.tries - v.onset
		}
	}
}

// decided is a decision of a session.
func (b *book) decided(now time.Duration, e Event) {
	b.result.Events = append(b.result.Events, e)
	c := int32(e.Client)
	switch e.Kind {
	case isolation.EventQuarantined:
		if e.Instance >= 0 {
			b.putOut(now, e)
		} else {
			b.leave(now, e)
		}
	case isolation.EventReadmitted, isolation.EventInService, isolation.EventHeld:
		if e.Instance >= 0 {
			b.view(c, e.Instance).out = false
		} else {
			delete(b.left, place{e.Client, e.Address})
		}
	case isolation.EventFallbackOn:
		b.result.Clients[c].Fallbacks++
		for i := range b.illness {
			b.view(c, i).out = false
		}
	}
}

// putOut judges a quarantine.
func (b *book) putOut(now time.Duration, e Event) {
	r := &b.result
	v := b.view(int32(e.Client), e.Instance)
	was := v.out
	v.out = true
	r.Instances[e.Instance].Quarantines++
	r.Clients[e.Client].Quarantines++
	switch {
	case b.find(now, e.Client, e.Instance) || now-b.cured[e.Instance] <= r.Scenario.Grace:
	case was:
		r.WrongReturns = append(r.WrongReturns, e)
	default:
		r.Instances[e.Instance].False++
		r.False = append(r.False, e)
	}
	if !v.absent {
		v.absent = true
		b.open = append(b.open, len(r.Absences))
		r.Absences = append(r.Absences, Absence{Client: e.Client, Instance: e.Instance, From: now, Until: Forever})
	}
}

// find notes that a client has found an instance's illness, and reports false if it has none.
func (b *book) find(now time.Duration, client, instance int) bool {
	il := b.illness[instance]
	if il == none {
		return false
	}
	if f := &b.result.Illnesses[il].Found[client]; !f.Found {
		v := b.view(int32(client), instance)
		*f = Find{Found: true, After: now - b.result.Illnesses[il].From, Tries: v.tries - v.onset}
	}
	return true
}

// place is a region as a client sees it.
type place struct {
	client int
	region string
}

// leave judges that a client leaves a whole region: it finds all instances there that are ill.
func (b *book) leave(now time.Duration, e Event) {
	r := &b.result
	was := b.left[place{e.Client, e.Address}]
	b.left[place{e.Client, e.Address}] = true
	right := false
	for i := range r.Instances {
		if r.Instances[i].Region == e.Address && (b.find(now, e.Client, i) || now-b.cured[i] <= r.Scenario.Grace) {
			right = true
		}
	}
	switch {
	case right:
	case was:
		r.WrongReturns = append(r.WrongReturns, e)
	default:
		r.False = append(r.False, e)
	}
}

// fullWeight is which part of its fair weight an instance needs to be in full service.
const fullWeight = .9

// weigh looks which absences have ended.
func (b *book) weigh(now time.Duration, callers []caller) {
	for c := range callers {
		b.weighOne(now, c, callers[c].session)
	}
}

func (b *book) weighOne(now time.Duration, c int, s Session) {
	known := false
	kept := b.open[:0]
	for _, i := range b.open {
		a := &b.result.Absences[i]
		if a.Client == c {
			if !known {
				b.weights(now, s)
				known = true
			}
			if b.weight[a.Instance] >= fullWeight {
				a.Until = now
				b.view(int32(c), a.Instance).absent = false
				continue
			}
		}
		kept = append(kept, i)
	}
	b.open = kept
}

// weights asks a session for the weights of all instances.
func (b *book) weights(now time.Duration, s Session) {
	for i := range b.weight {
		b.weight[i] = 1
	}
	s.Weights(now, b.weight)
}

// complete ends a row of the series.
func (b *book) complete(now time.Duration, callers []caller) {
	for c := range callers {
		b.weights(now, callers[c].session)
		for i, weight := range b.weight {
			if weight == 0 {
				b.row.Instances[i].Out++
			}
		}
	}
	for i, il := range b.illness {
		b.row.Instances[i].Ill = il != none
	}
	if next := int(now / b.result.Scenario.Bucket); next < len(b.result.Series) {
		b.row = &b.result.Series[next]
	}
}

// close adds up what is left to add.
func (b *book) close(callers []caller) *Result {
	r := &b.result
	for i, il := range b.illness {
		if il != none {
			b.missed(i)
		}
	}
	for i := range r.Clients {
		r.Totals.add(&r.Clients[i].Counts)
		if g := callers[i].guard; g != nil {
			s := g.engine.Snapshot()
			r.Clients[i].Guard = &s
		}
	}
	if r.Totals.Tries > 0 {
		for i := range r.Instances {
			r.Instances[i].Share = float64(r.Instances[i].Tries) / float64(r.Totals.Tries)
		}
	}
	return r
}

func (c *Counts) add(o *Counts) {
	c.Calls += o.Calls
	c.Failed += o.Failed
	c.Blocked += o.Blocked
	c.NoInstance += o.NoInstance
	c.Tries += o.Tries
	c.Retries += o.Retries
	c.Failures += o.Failures
	c.Timeouts += o.Timeouts
	c.Probes += o.Probes
	c.Latency += o.Latency
}
