package cordon

import (
	"context"
	"time"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/stat"
)

// Outcome says how an admitted call ended.
type Outcome = stat.Outcome

// The outcomes of a call.
const (
	Success = stat.Success
	Failure = stat.Failure
	Ignored = stat.Ignored
)

// Engine holds rules and statistics. Engines are independent of each other; all methods are safe for concurrent use.
type Engine struct{}

// New returns an engine with the given options.
func New(opts ...Option) (*Engine, error) { panic("stub") }

// Close ends the engine's sources and waits for them. It is idempotent. After Close every call is admitted, unchecked and uncounted.
func (e *Engine) Close() error { panic("stub") }

// Request describes a call that wants to enter.
type Request struct {
	// Resource names what is called. It may hold any bytes; the empty name is a resource like any other.
	Resource string
	// Cost is what the call counts against limits; 0 means 1. A negative cost is an error (ErrInvalidCost).
	Cost int
	// Args are the call's arguments, for rules that look into them.
	Args []any
	// Origin names the caller, for rules by origin.
	Origin string
	// Under names the entrance the call came in by, for rules that ask; default: the one in the context (WithEntrance).
	Under string
	// Inbound marks a call that others make to this process, as opposed to one this process makes.
	Inbound bool
	// Classify overrides the engine's classifier for this call.
	Classify Classifier
}

// Classifier decides the outcome of a call from the error it returned, nil included.
type Classifier func(ctx context.Context, err error) Outcome

// DefaultClassifier says: nil is Success; the caller's own cancellation (context.Canceled while ctx is cancelled) and
// a refusal of cordon itself (ErrBlocked) are Ignored; everything else, deadlines included, is Failure.
func DefaultClassifier(ctx context.Context, err error) Outcome { panic("stub") }

// WithEntrance returns a context whose calls count as made under that entrance, for rules with `under`.
func WithEntrance(ctx context.Context, name string) context.Context { panic("stub") }

// Enter asks to make a call. A nil error admits it: the entry must be ended exactly once, by Exit or End. Otherwise the
// entry holds nothing (ending it is harmless) and the error is a *BlockedError, the context's error (the caller gave up,
// or had before), or ErrInvalidCost. A nil ctx counts as context.Background().
func (e *Engine) Enter(ctx context.Context, req Request) (Entry, error) { panic("stub") }

// Do runs fn if resource admits it, and returns fn's error or the refusal. A panic of fn counts as failure and goes on.
func (e *Engine) Do(ctx context.Context, resource string, fn func(context.Context) error) error {
	panic("stub")
}

// Call is Do for functions that return a value.
func Call[T any](ctx context.Context, e *Engine, resource string, fn func(context.Context) (T, error)) (T, error) {
	panic("stub")
}

// Entry is an admitted call. It is a value without allocation; do not copy it after Enter returned it.
type Entry struct{}

// Exit ends the call with the error that *errp then holds; a nil errp is success. Deferred directly (defer ent.Exit(&err)) it also
// sees a panic, counts it as failure and lets it go on. The first Exit or End counts, others do nothing.
func (e *Entry) Exit(errp *error) { panic("stub") }

// End ends the call with an outcome decided by the caller.
func (e *Entry) End(o Outcome) { panic("stub") }

// Classify returns what Exit would make of err.
func (e *Entry) Classify(err error) Outcome { panic("stub") }

// Resource is a handle of one resource: calls through it need no look-up by name. It stays valid for the engine's life and keeps the resource from being dropped.
type Resource struct{}

// Resource returns the handle of a resource, made if it is new.
func (e *Engine) Resource(name string) Resource { panic("stub") }

// Name returns the resource's name.
func (r Resource) Name() string { panic("stub") }

// Enter is Engine.Enter with a plain request.
func (r Resource) Enter(ctx context.Context) (Entry, error) { panic("stub") }

// EnterWith is Engine.Enter; req.Resource is not looked at.
func (r Resource) EnterWith(ctx context.Context, req Request) (Entry, error) { panic("stub") }

// Rules is a set of rules of all kinds.
type Rules struct {
	Flow        []flow.Rule            `rule:"flow"`
	Concurrency []flow.ConcurrencyRule `rule:"concurrency"`
	Breaker     []breaker.Rule         `rule:"breaker"`
}

// Apply puts the rules given by code in force, in place of those given by the last Apply. Rules of sources stay. A set with a fault
// changes nothing: the error is rule.Problems, which the report holds too.
func (e *Engine) Apply(rules Rules) (rule.Report, error) { panic("stub") }

// Rules returns the rules in force, of all sources.
func (e *Engine) Rules() Rules { panic("stub") }

// Decoded is what a decoder made of a document.
type Decoded struct {
	// Rules are the good rules.
	Rules Rules
	// Problems are the faults of refused rules (each with Kind and RuleID set, so that the last good version can stay) and warnings.
	Problems rule.Problems
	// Partial asks to apply the good rules although others were refused; false asks to refuse the document if Problems holds any fault.
	Partial bool
}

// Decoder reads a document. The error says that it cannot be read as a whole. source is for messages.
type Decoder func(source string, data []byte) (Decoded, error)

// Native reads cordon's own document, YAML or JSON. A document with a fault is refused whole.
func Native(source string, data []byte) (Decoded, error) { panic("stub") }

// EncodeNative writes rules as a native document in YAML that Native reads back to the same rules.
func EncodeNative(rules Rules) ([]byte, error) { panic("stub") }

// Watch puts a source's rules in force, now and at every change, until ctx is done, the watch or the engine is closed. It waits for the first
// document (at most 5s by default). An error says why none of the source's rules are in force yet; the source is watched all the same.
func (e *Engine) Watch(ctx context.Context, src datasource.Source, dec Decoder, opts ...WatchOption) (*Watch, error) {
	panic("stub")
}

// Watch is a source that an engine takes rules from.
type Watch struct{}

// Health returns how the source is doing.
func (w *Watch) Health() datasource.Health { panic("stub") }

// Report returns the report on the newest document.
func (w *Watch) Report() rule.Report { panic("stub") }

// Close ends the watch; its rules stay in force.
func (w *Watch) Close() error { panic("stub") }

// ForceBreaker sets or releases a breaker by hand: see breaker.Breaker.Force. ruleID "" means all breakers of the resource.
func (e *Engine) ForceBreaker(resource, ruleID string, s breaker.State) error { panic("stub") }

// Snapshot is the engine at one moment. It encodes to JSON.
type Snapshot struct {
	// Time is the time of day.
	Time time.Time `json:"time"`
	// Resources are sorted by name.
	Resources []ResourceSnapshot `json:"resources"`
	// Sources are in the order they were watched.
	Sources []SourceSnapshot `json:"sources,omitempty"`
	// Rules counts the rules in force by kind.
	Rules map[string]int `json:"rules"`
	// Overflowed counts calls to resources beyond the bound, Dropped counts idle resources that were dropped, Faults internal faults.
	Overflowed int64 `json:"overflowed"`
	Dropped    int64 `json:"dropped"`
	Faults     int64 `json:"faults"`
}

// SourceSnapshot is one source's health.
type SourceSnapshot struct {
	Source      string    `json:"source"`
	Version     string    `json:"version"`
	Rules       int       `json:"rules"`
	Applied     time.Time `json:"applied"`
	LastSuccess time.Time `json:"lastSuccess"`
	LastFailure time.Time `json:"lastFailure"`
	LastError   string    `json:"lastError,omitempty"`
	Updates     int64     `json:"updates"`
	Failures    int64     `json:"failures"`
}

// ResourceSnapshot is one resource. Totals are since the resource was made and never go back; Recent is over the window.
type ResourceSnapshot struct {
	Name string `json:"name"`
	// Passed = Succeeded + Failed + Ignored + InFlight, up to calls ending at this moment.
	Passed    int64 `json:"passed"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Ignored   int64 `json:"ignored"`
	InFlight  int64 `json:"inFlight"`
	// Blocked counts refusals by kind; GaveUp counts callers that gave up while waiting.
	Blocked map[string]int64 `json:"blocked,omitempty"`
	GaveUp  int64            `json:"gaveUp"`
	// Shadow counts refusals that rules in shadow would have made, by kind.
	Shadow map[string]int64 `json:"shadow,omitempty"`
	Recent RecentSnapshot   `json:"recent"`
	Rules  []RuleSnapshot   `json:"rules,omitempty"`
}

// RecentSnapshot is a resource's recent past.
type RecentSnapshot struct {
	// Length is how far back it reaches.
	Length    time.Duration `json:"length"`
	Passed    int64         `json:"passed"`
	Succeeded int64         `json:"succeeded"`
	Failed    int64         `json:"failed"`
	// Mean is the mean latency; P50 to P99 are 0 until the resource has had a hundred calls.
	Mean time.Duration `json:"mean"`
	P50  time.Duration `json:"p50"`
	P90  time.Duration `json:"p90"`
	P99  time.Duration `json:"p99"`
}

// RuleSnapshot is one rule's state on one resource.
type RuleSnapshot struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Shadow bool   `json:"shadow,omitempty"`
	// Limit and Usage: see flow.Limiter and flow.Bulkhead; for breakers the threshold and the observed value.
	Limit   float64 `json:"limit"`
	Usage   float64 `json:"usage"`
	Queued  int     `json:"queued,omitempty"`
	Blocked int64   `json:"blocked"`
	// State, RetryIn and Reopened are for breakers.
	State    string        `json:"state,omitempty"`
	RetryIn  time.Duration `json:"retryIn,omitempty"`
	Reopened int           `json:"reopened,omitempty"`
}

// Snapshot returns the engine's state.
func (e *Engine) Snapshot() Snapshot { panic("stub") }
