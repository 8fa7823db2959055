package demo

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// refusedBy is the header by which the gateway marks an answer that a rule gave.
const refusedBy = "Cordon-Refused"

// A tally counts what became of calls. Every call sent ends in exactly one of the other counts.
type tally struct {
	// Sent calls were due by the schedule and went out.
	Sent int64
	// OK calls were answered 2xx by the service, Failed ones with an error by the service.
	OK, Failed int64
	// Limited calls were refused with 429 and Refused ones with 503, by the gateway.
	Limited, Refused int64
	// Broken calls got no answer, or one that neither the service nor a rule gives: the gateway's own failure.
	Broken int64
}

// minus returns what came after an earlier tally.
func (t tally) minus(earlier tally) tally {
	return tally{
		Sent: t.Sent - earlier.Sent, OK: t.OK - earlier.OK, Failed: t.Failed - earlier.Failed,
		Limited: t.Limited - earlier.Limited, Refused: t.Refused - earlier.Refused, Broken: t.Broken - earlier.Broken,
	}
}

// answered returns how many calls have ended.
func (t tally) answered() int64 { return t.OK + t.Failed + t.Limited + t.Refused + t.Broken }

// maxUnanswered is how many calls of one load may be unanswered at once. It is far above what any chapter needs; a machine that cannot keep up
// is sent fewer calls than wanted, instead of being buried under those that wait.
const maxUnanswered = 256

// A load calls one address at a steady rate over real connections. It is open: a call goes out when it is due, whether or
// not the ones before have been answered, as calls from many independent clients would.
type load struct {
	url    string
	client *http.Client
	clock  clock.Clock

	// caller says who makes the n-th call, if the service is to know.
	caller func(n int64) string

	// perSecond is the wanted rate; 0 pauses.
	perSecond atomic.Int64

	sent, ok, failed, limited, refused, broken atomic.Int64
	// heldUp is how long looks at the schedule were late, in nanoseconds: for that time the machine did something else.
	heldUp atomic.Int64
	// mistake is the first thing that went wrong with a broken call.
	mistake atomic.Pointer[string]
}

// maxConns is how many calls of one load can be under way at once. Calls beyond it wait for a connection before they are sent: a machine that
// stalls would otherwise be buried under new connections when it goes on.
const maxConns = 64

// newClient returns a client for loads, that gives up on an answer after ten seconds.
func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: transport}
}

// newTransport returns the transport of a client for loads.
func newTransport() *http.Transport {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		MaxConnsPerHost:     maxConns,
		MaxIdleConnsPerHost: maxConns,
		IdleConnTimeout:     30 * time.Second,
	}
}

// run sends calls until ctx is done, and returns when every one of them has ended.
func (l *load) run(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	// Looking at the schedule every couple of milliseconds is enough: calls of independent clients come in clumps too.
	const look, late = 2 * time.Millisecond, 10 * time.Millisecond
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	last, owed := l.clock.Now(), 0.0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := l.clock.Now()
		if gap := now - last; gap > late {
			l.heldUp.Add(int64(gap - look))
		}
		owed += (now - last).Seconds() * float64(l.perSecond.Load())
		last = now
		for ; owed >= 1; owed-- {
			if t := l.tally(); t.Sent-t.answered() < maxUnanswered {
				n := l.sent.Add(1)
				calls.Go(func() { l.call(n) })
			}
		}
	}
}

// call makes the n-th call, counted as sent, and counts how it ended. It is not bound to the load's context: a call once made is waited for.
func (l *load) call(n int64) {
	request, err := http.NewRequest(http.MethodGet, l.url, nil)
	if err != nil {
		l.broke(err.Error())
		return
	}
	if l.caller != nil {
		request.Header.Set(calledBy, l.caller(n))
	}
	response, err := l.client.Do(request)
	if err != nil {
		l.broke(err.Error())
		return
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		l.broke("reading the answer: " + err.Error())
		return
	}
	l.count(response)
}

func (l *load) count(response *http.Response) {
	byService := response.Header.Get(fromUpstream) != ""
	byRule := response.Header.Get(refusedBy) != ""
	switch {
	case byService && response.StatusCode < 300:
		l.ok.Add(1)
	case byService:
		l.failed.Add(1)
	case byRule && response.StatusCode == http.StatusTooManyRequests:
		l.limited.Add(1)
	case byRule && response.StatusCode == http.StatusServiceUnavailable:
		l.refused.Add(1)
	default:
		l.broke("unexpected answer: " + response.Status)
	}
}

func (l *load) broke(why string) {
	l.broken.Add(1)
	l.mistake.CompareAndSwap(nil, &why)
}

// tally returns the counts so far. Ends are read before Sent, so that they never exceed it.
func (l *load) tally() tally {
	t := tally{OK: l.ok.Load(), Failed: l.failed.Load(), Limited: l.limited.Load(), Refused: l.refused.Load(), Broken: l.broken.Load()}
	t.Sent = l.sent.Load()
	return t
}

// why is the first mistake, as the end of a sentence; "" if there was none.
func (l *load) why() string {
	if mistake := l.mistake.Load(); mistake != nil {
		return " (" + *mistake + ")"
	}
	return ""
}
