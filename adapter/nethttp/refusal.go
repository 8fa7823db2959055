package nethttp

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/cordon-go/cordon"
)

// ProblemBlocked is the problem type (RFC 9457) of a refused request. It is a name, not a place.
const ProblemBlocked = "tag:github.com,2026:cordon-go/cordon:blocked"

// headerRefused marks refusals, so that a client that runs cordon knows them without reading the body, which would not be
// its to read: the value is the kind of the rule that refused.
const headerRefused = "Cordon-Refused"

// Refusal is why a request was not served.
type Refusal struct {
	// Err is the engine's error: a *cordon.BlockedError, the context's error if the caller gave up while waiting for its turn, or
	// cordon.ErrInvalidCost.
	Err error
	// Blocked is Err as a *cordon.BlockedError; nil if it is none.
	Blocked *cordon.BlockedError
	// Status is the status to answer with: 429 for a rate and for whatever is limited by a value in the request, 403 for an origin that may not call, 503 for a breaker, a concurrency limit, a process that is overloaded (system rules), another check, or a caller that gave
	// up, 500 for an invalid cost.
	Status int
	// RetryAfter is when it is worth trying again; 0 when nothing can be said. Of an overloaded process it is a second where nothing better can be said, since its callers should not come back at once.
	RetryAfter time.Duration
}

// overloaded is how long callers of an overloaded process are asked to stay away, where nothing better can be said.
const overloaded = time.Second

func newRefusal(err error) Refusal {
	ref := Refusal{Err: err, Status: http.StatusServiceUnavailable}
	switch {
	case errors.As(err, &ref.Blocked):
		switch k := ref.Blocked.Kind; {
		case k == cordon.KindFlow, k == cordon.KindParam && !errors.Is(err, cordon.ErrFault):
			ref.Status = http.StatusTooManyRequests
		case k == cordon.KindAuthority:
			ref.Status = http.StatusForbidden
		}
		ref.RetryAfter = max(ref.Blocked.RetryAfter, 0)
		if ref.Blocked.Kind == cordon.KindSystem && ref.Blocked.RetryAfter == 0 {
			ref.RetryAfter = overloaded
		}
	case errors.Is(err, cordon.ErrInvalidCost):
		ref.Status = http.StatusInternalServerError
	}
	return ref
}

// setHeaders sets what every refusal carries, however it is written.
func (ref Refusal) setHeaders(h http.Header) {
	if ref.Blocked != nil {
		h.Set(headerRefused, ref.Blocked.Kind.String())
	}
	if ref.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(wholeSeconds(ref.RetryAfter), 10))
	}
}

// wholeSeconds rounds up, so that nobody comes back too early.
func wholeSeconds(d time.Duration) int64 {
	return int64((d-1)/time.Second) + 1
}

// WriteRefusal answers a refused request with ref.Status and a Problem. It is the default of WithRefusal, and may be
// called with a changed Refusal by one's own.
func WriteRefusal(w http.ResponseWriter, r *http.Request, ref Refusal) {
	p := Problem{Status: ref.Status}
	if b := ref.Blocked; b != nil {
		p.Type = ProblemBlocked
		article := "a"
		if b.Kind == cordon.KindAuthority {
			article = "an"
		}
		p.Title = "Request refused by " + article + " " + b.Kind.String() + " rule"
		p.Kind, p.Rule, p.Resource = b.Kind.String(), b.RuleID, b.Resource
		if ref.RetryAfter > 0 {
			p.RetryAfter = wholeSeconds(ref.RetryAfter)
		}
	}
	p.Write(w)
}

// Problem is a problem document (RFC 9457).
type Problem struct {
	// Type identifies the kind of problem by a URI; "" means that there is no more to it than the status.
	Type string `json:"type,omitempty"`
	// Title says what kind of problem it is; default: the status's text.
	Title string `json:"title"`
	// Status is the HTTP status; default 500.
	Status int `json:"status"`
	// Detail says what happened this time.
	Detail string `json:"detail,omitempty"`
	// Kind, Rule and Resource say which rule refused the request, where.
	Kind     string `json:"kind,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Resource string `json:"resource,omitempty"`
	// RetryAfter is the header's value: whole seconds, rounded up.
	RetryAfter int64 `json:"retryAfter,omitempty"`
}

// Write answers a request with the problem.
func (p Problem) Write(w http.ResponseWriter) {
	if p.Status == 0 {
		p.Status = http.StatusInternalServerError
	}
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // a struct of strings and integers has no reason not to encode
	}
	h := w.Header()
	h.Del("Content-Encoding")
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // nobody is left to tell if the client has gone
}
