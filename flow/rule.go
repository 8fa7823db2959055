// Package flow limits calls by rate and by concurrency.
//
// A Limiter holds one budget of one rule; a Bulkhead holds one concurrency limit. Both take the time as an argument,
// are safe for concurrent use, and are usable alone, without the engine. Every mode states its
// bound, and no bound is ever passed by racing callers.
package flow

import (
	"time"

	"github.com/cordon-go/cordon/rule"
)

// Mode says how a rate is enforced.
type Mode uint8

const (
	// Reject refuses what would make more than Limit calls in any interval of length Per: an exact
	// sliding window, whatever the phase.
	Reject Mode = iota
	// Smooth refuses what comes faster than Limit per Per beyond Burst (GCRA): in every interval T at most Burst + Limit·T/Per.
	Smooth
	// Pace lets calls pass at even distances Per/Limit, each waiting for its turn at most MaxWait.
	Pace
	// WarmUp is Reject with a limit that grows from Limit/ColdFactor to Limit while there is traffic (Sentinel's warm-up curve).
	WarmUp
	// WarmUpPace is Pace at the warm-up's current rate.
	WarmUpPace
)

// Rule limits the rate of calls of the resources it matches.
type Rule struct {
	// ID identifies the rule; its state is kept across edits by it. Default: derived from the resource.
	ID string `rule:"id"`
	// Resource says which resources are limited. Required.
	Resource rule.Match `rule:"resource"`
	// Limit is how many calls (their cost added up) may pass per Per, 0 to 10,000,000 per second; 0 refuses all. A fractional limit becomes whole calls
	// over a longer interval: 0.5 per second is 1 per 2 s.
	Limit float64 `rule:"limit"`
	// Per is the interval, 1ms to 24h; default 1s.
	Per time.Duration `rule:"per"`
	// Mode is how the rate is enforced; default reject.
	Mode Mode `rule:"mode"`
	// Burst is how many calls Smooth lets pass at once, 1 to Limit...; default 1. Only for smooth.
	Burst int `rule:"burst"`
	// MaxWait is how long a call may wait for its turn, 0 to 1h; default 500ms... Only for pace and warmUpPace;
	MaxWait time.Duration `rule:"maxWait"`
	// WarmUp is how long it takes to reach Limit under full traffic, 1s to 1h; default 10s. Only for the warm-up modes.
	WarmUp time.Duration `rule:"warmUp"`
	// ColdFactor is how much slower a cold resource is, above 1 up to 100; default 3.
	ColdFactor float64 `rule:"coldFactor"`
	// Origin restricts the rule to callers: "" is all callers together, a name is that caller, "other" is every caller that no rule of the
	// same resource names, each with its own budget.
	Origin string `rule:"origin"`
	// Related makes the rule refuse calls of this resource while the resource named here has passed more than Limit per Per. Only for reject.
	Related string `rule:"related"`
	// Under restricts the rule to calls made under that entrance (the outermost resource, or the one set by the caller).
	Under string `rule:"under"`
	// Memory, when set (HighLimit above 0), replaces Limit by one that falls as the process fills its memory. Only for reject.
	Memory Memory `rule:"memory"`
	// Also, Shared and Shadow: see rule.Meta.
	Also   bool `rule:"also"`
	Shared bool `rule:"shared"`
	Shadow bool `rule:"shadow"`
}

// Memory makes a limit fall linearly with the memory in use: from Limit at LowMark to HighMarkLimit at HighMark.
type Memory struct {
	// LowLimit is the limit while at most LowMark bytes are in use. HighLimit is the limit from HighMark on; below LowLimit.
	LowLimit  float64 `rule:"lowLimit"`
	HighLimit float64 `rule:"highLimit"`
	// LowMark and HighMark are bytes of resident memory, or shares of the memory limit when at most 1.
	LowMark  float64 `rule:"lowMark"`
	HighMark float64 `rule:"highMark"`
}

// ConcurrencyRule limits how much runs at once.
type ConcurrencyRule struct {
	// ID identifies the rule; its state is kept across edits by it. Default: derived from the resource.
	ID string `rule:"id"`
	// Resource says which resources are limited. Required.
	Resource rule.Match `rule:"resource"`
	// Limit is how much cost may be in flight at once, 0 to 10,000,000; 0 refuses all.
	Limit int `rule:"limit"`
	// MaxWait is how long a call may wait for a free place, 0 to 1h; 0 means no waiting.
	MaxWait time.Duration `rule:"maxWait"`
	// Queue is how many calls may wait at once, 1 to 100,000; default 100 when MaxWait is set. First come, first served.
	Queue int `rule:"queue"`
	// Origin: as in Rule.
	Origin string `rule:"origin"`
	// Under: as in Rule.
	Under string `rule:"under"`
	// Also, Shared and Shadow: see rule.Meta.
	Also   bool `rule:"also"`
	Shared bool `rule:"shared"`
	Shadow bool `rule:"shadow"`
}
