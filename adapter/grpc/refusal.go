package cordongrpc

import (
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cordon-go/cordon"
)

// Domain is that of refusals' ErrorInfo, by which they are known.
const Domain = "cordon"

// pushback is the trailer by which a server tells clients that retry when to come back (gRFC A6).
const pushback = "grpc-retry-pushback-ms"

// The keys of what a refusal's ErrorInfo tells.
const (
	infoKind     = "kind"
	infoRule     = "rule"
	infoResource = "resource"
	infoLimit    = "limit"
	infoRetry    = "retry"
	retryNever   = "never"
)

// Refusal is what the status of a refused call says. On the wire it is an ErrorInfo of Domain with the metadata kind, rule, resource, limit and retry, a RetryInfo if it is known when to come
// back, and then the trailer grpc-retry-pushback-ms. (TapHandle cannot send trailers.)
type Refusal struct {
	// Code is the status's: ResourceExhausted, Unavailable (see WithUnavailable, and for cordon.ErrFault), or PermissionDenied for authority rules.
	Code codes.Code
	// Message is the status's.
	Message string
	// Reason says what kind of rule refused, as RATE_LIMITED. It is made for programs that know nothing of cordon.
	Reason string
	// Kind is the kind of the rule, as documents call it ("flow"); see cordon.Kind.
	Kind string
	// RuleID and Resource say which rule refused, where. Limit is the limit in the rule's own unit, 0 if it is not told.
	RuleID, Resource string
	Limit            float64
	// RetryAfter is when it is worth trying again. 0 means that nothing can be said; negative that waiting never helps.
	RetryAfter time.Duration
}

// FromStatus returns what err says if it is a refusal by cordon, of this process or of a peer; wrapped errors are looked into.
func FromStatus(err error) (*Refusal, bool) {
	st, ok := status.FromError(err)
	if !ok || st.Code() == codes.OK {
		return nil, false
	}
	var ref *Refusal
	var retry time.Duration
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == Domain && ref == nil {
				ref = refusalOf(d)
			}
		case *errdetails.RetryInfo:
			retry = d.GetRetryDelay().AsDuration()
		}
	}
	if ref == nil {
		return nil, false
	}
	ref.Code, ref.Message = st.Code(), st.Message()
	if ref.RetryAfter == 0 {
		ref.RetryAfter = max(retry, 0)
	}
	return ref, true
}

func refusalOf(d *errdetails.ErrorInfo) *Refusal {
	md := d.GetMetadata()
	ref := &Refusal{Reason: d.GetReason(), Kind: md[infoKind], RuleID: md[infoRule], Resource: md[infoResource]}
	ref.Limit, _ = strconv.ParseFloat(md[infoLimit], 64) // not told, or by a version that says it otherwise
	if md[infoRetry] == retryNever {
		ref.RetryAfter = -1
	}
	return ref
}

// refused reports whether an error is a refusal by cordon, here or at a peer.
func refused(err error) bool {
	if errors.Is(err, cordon.ErrBlocked) {
		return true
	}
	st, ok := status.FromError(err)
	if !ok {
		return false
	}
	switch st.Code() {
	case codes.ResourceExhausted, codes.Unavailable, codes.PermissionDenied: // the only ones that refusals have; others need no decoding
	default:
		return false
	}
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == Domain {
			return true
		}
	}
	return false
}

// refusalError is the error of a call that was not admitted: the engine's, with the status that it has in gRPC.
type refusalError struct {
	err     error
	blocked *cordon.BlockedError // nil: the caller gave up while it waited, or the cost is invalid
	code    codes.Code
}

// refuse makes the error of a call that the engine did not admit.
func (c *config) refuse(err error) error {
	e := &refusalError{err: err}
	switch {
	case errors.As(err, &e.blocked):
		e.code = c.code(e.blocked)
	case errors.Is(err, cordon.ErrInvalidCost):
		e.code = codes.Internal
	default:
		e.code = status.FromContextError(err).Code()
	}
	return e
}

// code returns the code of a refusal.
func (c *config) code(b *cordon.BlockedError) codes.Code {
	switch {
	case b.Kind == cordon.KindAuthority:
		return codes.PermissionDenied
	case c.unavailable[b.Kind]:
		return codes.Unavailable
	case (b.Kind == cordon.KindParam || b.Kind == cordon.KindCustom) && errors.Is(b, cordon.ErrFault): // others have nothing of one's own to fail in
		return codes.Unavailable
	}
	return codes.ResourceExhausted
}

// Error says what was refused and why.
func (e *refusalError) Error() string { return e.err.Error() }

// Unwrap returns the engine's error.
func (e *refusalError) Unwrap() error { return e.err }

// GRPCStatus returns the error's status; see Refusal.
func (e *refusalError) GRPCStatus() *status.Status {
	st := status.New(e.code, e.err.Error())
	b := e.blocked
	if b == nil {
		return st
	}
	info := &errdetails.ErrorInfo{Domain: Domain, Reason: reasonOf(b), Metadata: map[string]string{
		infoKind: b.Kind.String(), infoRule: b.RuleID, infoResource: b.Resource,
	}}
	if b.Limit > 0 || b.Limit == 0 && b.Kind != cordon.KindCustom {
		info.Metadata[infoLimit] = strconv.FormatFloat(b.Limit, 'g', -1, 64)
	}
	if b.RetryAfter < 0 {
		info.Metadata[infoRetry] = retryNever
	}
	with, err := st.WithDetails(info)
	if b.RetryAfter > 0 && err == nil {
		with, err = with.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(b.RetryAfter)})
	}
	if err != nil {
		return st // a name that is no UTF-8 cannot be sent
	}
	return with
}

// trailer returns what a server sends besides, nil if that is nothing. A negative pushback tells not to retry.
func (e *refusalError) trailer() metadata.MD {
	if e.blocked == nil || e.blocked.RetryAfter == 0 {
		return nil
	}
	ms := int64(-1)
	if d := e.blocked.RetryAfter; d > 0 {
		ms = int64((d-1)/time.Millisecond) + 1 // nobody comes back too early
	}
	return metadata.MD{pushback: {strconv.FormatInt(ms, 10)}}
}

// trailerOf returns the trailer of an error of refuse.
func trailerOf(err error) metadata.MD {
	if e, ok := err.(*refusalError); ok {
		return e.trailer()
	}
	return nil
}

// reasonOf returns the ErrorInfo's reason.
func reasonOf(b *cordon.BlockedError) string {
	switch b.Kind {
	case cordon.KindFlow:
		return "RATE_LIMITED"
	case cordon.KindConcurrency:
		return "CONCURRENCY_LIMITED"
	case cordon.KindBreaker:
		return "BREAKER_OPEN"
	case cordon.KindParam:
		return "PARAMETER_LIMITED"
	case cordon.KindSystem:
		return "SYSTEM_OVERLOADED"
	case cordon.KindAuthority:
		return "CALLER_NOT_ALLOWED"
	}
	return "CHECK_FAILED"
}
