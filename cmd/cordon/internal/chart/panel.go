package chart

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sim"
)

// panel is what is drawn of one result.
type panel struct {
	*drawing
	r      *sim.Result
	length time.Duration
	series []series
	points []point
}

func newPanel(d *drawing, r *sim.Result, list []series) *panel {
	return &panel{drawing: d, r: r, length: r.Scenario.Length, series: list, points: points(r, list)}
}

func (p *panel) draw() {
	p.y += gap
	p.text(16, p.y+4, "title", p.r.Policy)
	c := &p.r.Totals
	quarantines, fallbacks := 0, 0
	for i := range p.r.Clients {
		quarantines += p.r.Clients[i].Quarantines
		fallbacks += p.r.Clients[i].Fallbacks
	}
	p.text(right, p.y+4, "small end", fmt.Sprintf("%d calls, %.2f %% failed · quarantines: %d, %d false · fallbacks: %d",
		c.Calls, 100*c.FailedShare(), quarantines, len(p.r.False), fallbacks))
	p.y += 14
	top := p.y
	p.shares()
	p.failures()
	p.spans()
	p.axis(top)
}

// shares draws the stacked shares of the traffic.
func (p *panel) shares() {
	p.text(left-8, p.y+9, "small end", "100 %")
	p.text(left-8, p.y+shareHeight/2+4, "small end", "share of calls")
	p.text(left-8, p.y+shareHeight, "small end", "0")
	below := make([]float64, len(p.points))
	above := make([]float64, len(p.points))
	for s := range p.series {
		for i := range p.points {
			above[i] = below[i] + share(p.points[i].tries[s], p.points[i].all)
		}
		p.area(p.y, shareHeight, below, above, fmt.Sprintf("s%d", s), p.series[s].name)
		copy(below, above)
	}
	p.rect(left, p.y, right-left, shareHeight, "frame", "")
	p.y += shareHeight + 8
}

// failures draws the shares of calls that failed and that were refused.
func (p *panel) failures() {
	none := make([]float64, len(p.points))
	failed := make([]float64, len(p.points))
	both := make([]float64, len(p.points))
	most := 0.
	for i := range p.points {
		failed[i] = share(p.points[i].failed, p.points[i].calls)
		both[i] = min(failed[i]+share(p.points[i].refused, p.points[i].calls), 1)
		most = max(most, both[i])
	}
	scale := roundUp(most)
	for i := range p.points {
		failed[i] /= scale
		both[i] /= scale
	}
	p.text(left-8, p.y+9, "small end", fmt.Sprintf("%g %%", 100*scale))
	p.text(left-8, p.y+failHeight/2+4, "small end", "failed")
	p.text(left-8, p.y+failHeight, "small end", "0")
	p.area(p.y, failHeight, none, failed, "failed", "failed calls")
	p.area(p.y, failHeight, failed, both, "refused", "refused by rules")
	p.rect(left, p.y, right-left, failHeight, "frame", "")
	p.y += failHeight + 8
}

// area draws what lies between two lines of steps, whose values go from 0 to 1. Where they are the same there is nothing to be drawn.
func (p *panel) area(top, height float64, below, above []float64, class, title string) {
	y := func(v float64) float64 { return top + height*(1-v) }
	var b strings.Builder
	for i := 0; i < len(p.points); {
		if above[i] <= below[i] {
			i++
			continue
		}
		begin := i
		for i < len(p.points) && above[i] > below[i] {
			i++
		}
		fmt.Fprintf(&b, "M%.1f %.1f", at(p.points[begin].from, p.length), y(below[begin]))
		for j := begin; j < i; j++ {
			fmt.Fprintf(&b, "V%.1fH%.1f", y(above[j]), at(p.points[j].until, p.length))
		}
		for j := i - 1; j >= begin; j-- {
			fmt.Fprintf(&b, "V%.1fH%.1f", y(below[j]), at(p.points[j].from, p.length))
		}
		b.WriteString("Z")
	}
	if b.Len() > 0 {
		p.put(`<path d="%s" class="%s"><title>%s</title></path>`, b.String(), class, escape(title))
	}
}

// spans draws a row for each instance with the times at which it was ill and out of service, and rows for regions and fallbacks.
func (p *panel) spans() {
	for i := range p.series {
		if s := &p.series[i]; !s.rest {
			p.row(s)
		}
	}
	p.regions()
	p.fallbacks()
	p.y += 4
}

func (p *panel) row(s *series) {
	instance := s.instances[0]
	p.label(s.name)
	for i := range p.r.Illnesses {
		if il := &p.r.Illnesses[i]; il.Instance == instance {
			p.span(il.From, il.Until, 1, rowHeight-2, "ill", 1, s.name+" ill")
		}
	}
	clients := len(p.r.Clients)
	for i := range p.r.Absences {
		if a := &p.r.Absences[i]; a.Instance == instance {
			name := s.name + " out"
			if clients > 1 {
				name += " at " + p.r.Clients[a.Client].Name
			}
			p.span(a.From, a.Until, 4, rowHeight-8, "out", 1/float64(clients), name)
		}
	}
	p.y += rowHeight
}

// regions draws a row for each region that a client left as a whole, with the times until it went there again as before.
func (p *panel) regions() {
	var names []string
	for i := range p.r.Events {
		if e := &p.r.Events[i]; e.Instance < 0 && e.Address != "" && !slices.Contains(names, e.Address) {
			names = append(names, e.Address)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		p.turns("region "+name, "out", "region "+name+" out", func(e *sim.Event) (begins, ends bool) {
			if e.Instance >= 0 || e.Address != name {
				return false, false
			}
			return e.Kind == isolation.EventQuarantined, e.Kind == isolation.EventInService
		})
	}
}

// fallbacks draws the times at which clients had switched their isolation off, if there are any.
func (p *panel) fallbacks() {
	p.turns("fallback", "fallback", "fallback", func(e *sim.Event) (begins, ends bool) {
		return e.Kind == isolation.EventFallbackOn, e.Kind == isolation.EventFallbackOff
	})
}

// turns draws a row of the times between events that begin something and those that end it, if there are any.
func (p *panel) turns(label, class, title string, is func(e *sim.Event) (begins, ends bool)) {
	since := make([]time.Duration, len(p.r.Clients))
	for i := range since {
		since[i] = sim.Forever
	}
	drawn := false
	end := func(client int, until time.Duration) {
		if since[client] == sim.Forever {
			return
		}
		if !drawn {
			p.label(label)
			drawn = true
		}
		name := title
		if len(since) > 1 {
			name += " at " + p.r.Clients[client].Name
		}
		p.span(since[client], until, 4, rowHeight-8, class, 1/float64(len(since)), name)
		since[client] = sim.Forever
	}
	for i := range p.r.Events {
		e := &p.r.Events[i]
		begins, ends := is(e)
		switch {
		case begins:
			since[e.Client] = min(since[e.Client], e.At)
		case ends:
			end(e.Client, e.At)
		}
	}
	for client := range since {
		end(client, p.length)
	}
	if drawn {
		p.y += rowHeight
	}
}

// label names a row.
func (p *panel) label(name string) {
	const longest = 16
	if letters := []rune(name); len(letters) > longest {
		name = string(letters[:longest-1]) + "…"
	}
	p.text(left-8, p.y+rowHeight-3, "small end", name)
}

// span draws a time, in the current row from a height on. With one client of many it is as faint as that.
func (p *panel) span(from, until time.Duration, top, height float64, class string, opacity float64, title string) {
	if from >= p.length {
		return
	}
	end := "the end"
	if until < p.length {
		end = rule.DurationText(until.Round(100 * time.Millisecond))
	}
	x := at(from, p.length)
	w := max(at(until, p.length)-x, 1) // what is short is still seen
	title = fmt.Sprintf("%s, from %s until %s", title, rule.DurationText(from.Round(100*time.Millisecond)), end)
	faint := ""
	if opacity < 1 {
		faint = fmt.Sprintf(` fill-opacity="%.2f"`, max(opacity, .1))
	}
	p.put(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s"%s><title>%s</title></rect>`, x, p.y+top, w, height, class, faint, escape(title))
}

// axis draws the marks of time, up to the panel's top.
func (p *panel) axis(top float64) {
	for t, s := time.Duration(0), step(p.length); t <= p.length; t += s {
		x := at(t, p.length)
		p.put(`<path d="M%.1f %.1fV%.1f" class="grid"/>`, x, top, p.y)
		p.text(x, p.y+12, "small mid", rule.DurationText(t))
	}
	p.y += 16
}
