package scenario

import (
	"fmt"
	"time"

	"github.com/cordon-go/cordon/sim"
)

const wantScript = "a condition (failures, throttles, latency, down or hangs), noisy, shocks or restart"

// condition returns what is written in the script itself.
func (s *Script) condition() Condition {
	return Condition{Failures: s.Failures, Throttles: s.Throttles, Latency: s.Latency, FailFast: s.FailFast, Down: s.Down, Hangs: s.Hangs}
}

// build returns the kit's script.
func (s *Script) build() sim.Script {
	span := sim.Span{From: s.From, Until: s.Until}
	switch {
	case s.Noisy != nil:
		return sim.Noisy{Span: span, Min: s.Noisy.Min, Max: s.Noisy.Max, Every: s.Noisy.Every}
	case s.Shocks != nil:
		most := s.Shocks.Max
		if most == 0 {
			most = 1
		}
		return sim.Shocks{Span: span, Every: s.Shocks.Every, Shortest: s.Shocks.Shortest, Longest: s.Shocks.Longest, Min: s.Shocks.Min, Max: most}
	case s.Restart != nil:
		return sim.Restart{At: s.From, Every: s.Restart.Every, Down: s.Restart.Down, Warmup: s.Restart.Warmup, Slow: s.Restart.Slow.build()}
	case s.Flap != nil:
		return sim.Flapping{Span: span, Bad: s.Flap.Bad, Good: s.Flap.Good, Condition: s.condition().build()}
	}
	return sim.During{Span: span, Condition: s.condition().build()}
}

func (c Condition) build() sim.Condition {
	return sim.Condition{
		Failures: c.Failures, Throttles: c.Throttles, Latency: c.Latency.build(), FailFast: c.FailFast, Down: c.Down, Hangs: c.Hangs,
	}
}

func buildScripts(scripts []Script) []sim.Script {
	list := make([]sim.Script, len(scripts))
	for i := range scripts {
		list[i] = scripts[i].build()
	}
	return list
}

func (f *faults) scripts(field string, scripts []Script) {
	for i := range scripts {
		f.script(fmt.Sprintf("%s[%d]", field, i), &scripts[i])
	}
}

func (f *faults) script(field string, s *Script) {
	c := s.condition()
	f.share(field+".failures", c.Failures)
	f.share(field+".throttles", c.Throttles)
	f.latency(field+".latency", c.Latency)
	f.span(field, s.From, s.Until)
	conditional := c.build() != sim.Condition{FailFast: c.FailFast}
	kinds := 0
	for _, given := range []bool{c != Condition{} || s.Flap != nil, s.Noisy != nil, s.Shocks != nil, s.Restart != nil} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		f.add(field, "is several scripts at once", "one of: "+wantScript)
	case kinds == 0:
		f.add(field, "says nothing", wantScript)
	case s.Flap != nil && !conditional:
		f.add(field+".flap", "makes nothing come and go", "a condition beside it (failures, throttles, latency, down or hangs)")
	case s.Noisy == nil && s.Shocks == nil && s.Restart == nil && !conditional:
		f.add(field, "changes nothing", wantScript)
	}
	if s.Flap != nil {
		f.required(field+".flap.bad", s.Flap.Bad)
		f.required(field+".flap.good", s.Flap.Good)
	}
	if s.Noisy != nil {
		f.required(field+".noisy.every", s.Noisy.Every)
		f.shares(field+".noisy", s.Noisy.Min, s.Noisy.Max)
		if s.Noisy.Max == 0 {
			f.add(field+".noisy.max", "is missing", "a share of failures above 0 up to 1")
		}
	}
	if s.Shocks != nil {
		f.shocks(field+".shocks", s.Shocks)
	}
	if s.Restart != nil {
		f.restart(field, s)
	}
}

func (f *faults) shares(field string, lo, hi float64) {
	f.share(field+".min", lo)
	f.share(field+".max", hi)
	if hi != 0 && lo > hi {
		f.add(field+".max", fmt.Sprintf("%v is below min, %v", hi, lo), "min or more")
	}
}

func (f *faults) shocks(field string, s *Shocks) {
	f.required(field+".every", s.Every)
	f.required(field+".longest", s.Longest)
	if s.Longest > 0 && s.Longest < s.Shortest {
		f.add(field+".longest", fmt.Sprintf("%v is below shortest, %v", s.Longest, s.Shortest), "shortest or more")
	}
	f.shares(field, s.Min, s.Max)
	if s.Max == 0 && f.written(field+".max") {
		f.add(field+".max", "0 is out of range", "above 0 up to 1, or no such field for 1")
	}
}

func (f *faults) restart(field string, s *Script) {
	r := s.Restart
	if f.written(field + ".until") {
		f.add(field+".until", "is nothing that a restart has", "down and warmup")
	}
	field += ".restart"
	f.required(field+".down", r.Down)
	f.latency(field+".slow", r.Slow)
	if slow := r.Slow.build(); (slow == nil) != (r.Warmup == 0) {
		f.add(field, "has a warmup and a slow that do not fit", "both, or none")
	}
	if least := r.Down + r.Warmup; f.written(field+".every") && (r.Every < least || least < 0) {
		f.add(field+".every", fmt.Sprintf("%v is too short", r.Every), fmt.Sprintf("at least down and warmup, %v, or no such field for never", max(least, time.Duration(0))))
	}
}
