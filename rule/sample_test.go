package rule

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// limitRule is a sample kind with every sort of field that real kinds have.
type limitRule struct {
	ID       string        `rule:"id"`
	Resource Match         `rule:"resource"`
	Limit    float64       `rule:"limit"`
	Per      time.Duration `rule:"per"`
	Mode     mode          `rule:"mode"`
	Burst    int           `rule:"burst"`
	Memory   memory        `rule:"memory"`
	Also     bool          `rule:"also"`
	Shared   bool          `rule:"shared"`
	Shadow   bool          `rule:"shadow"`
	// unseen is no part of documents.
	unseen int
}

type memory struct {
	Low  float64 `rule:"lowMark"`
	High float64 `rule:"highMark"`
}

type mode uint8

const (
	reject mode = iota
	smooth
	pace
)

func (mode) Values() []string { return []string{"reject", "smooth", "pace"} }

func (m mode) MarshalText() ([]byte, error) {
	if int(m) >= len(m.Values()) {
		return nil, fmt.Errorf("unknown mode %d", m)
	}
	return []byte(m.Values()[m]), nil
}

func (m *mode) UnmarshalText(text []byte) error {
	i := slices.Index(m.Values(), string(text))
	if i < 0 {
		return fmt.Errorf("unknown mode %q", text)
	}
	*m = mode(i)
	return nil
}

func (r limitRule) Meta() Meta {
	return Meta{ID: r.ID, Resource: r.Resource, Also: r.Also, Shared: r.Shared, Shadow: r.Shadow}
}

func (r limitRule) WithID(id string) limitRule {
	r.ID = id
	return r
}

func (r limitRule) Equal(o limitRule) bool { return r == o }

func (r limitRule) Problems() []Problem {
	var out []Problem
	if err := r.Resource.Check(); err != nil {
		out = append(out, Problem{Field: "resource", Message: err.Error()})
	}
	if r.Limit < 0 || math.IsNaN(r.Limit) {
		out = append(out, Problem{Field: "limit", Message: fmt.Sprintf("%v is negative", r.Limit), Want: "0 or more"})
	}
	if r.Per != 0 && (r.Per < time.Millisecond || r.Per > 24*time.Hour) {
		out = append(out, Problem{Field: "per", Message: fmt.Sprintf("%v is out of range", r.Per), Want: "1ms to 24h"})
	}
	if r.Burst != 0 && r.Mode != smooth {
		out = append(out, Problem{Field: "burst", Message: "is only for mode smooth"})
	}
	if r.Memory.Low > r.Memory.High {
		out = append(out, Problem{Field: "memory.lowMark", Message: "is above highMark"})
	}
	if r.Per > time.Hour {
		out = append(out, Problem{Field: "per", Message: "is unusually long", Warning: true})
	}
	return out
}
