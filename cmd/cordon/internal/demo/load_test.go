package demo

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startTestUpstream starts a service that ends with the test.
func startTestUpstream(t *testing.T) *upstream {
	t.Helper()
	u, err := startUpstream("search", clock.System())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, u.close(context.Background())) })
	return u
}

// newTestLoad returns a load whose connections end with the test.
func newTestLoad(t *testing.T, url string) *load {
	t.Helper()
	client := newClient(newTransport())
	t.Cleanup(client.CloseIdleConnections)
	return &load{url: url, client: client, clock: clock.System()}
}

// send makes one call at once.
func send(l *load) {
	l.call(l.sent.Add(1))
}

func TestEveryAnswerIsCountedOnceForWhatItIs(t *testing.T) {
	u := startTestUpstream(t)
	l := newTestLoad(t, u.url())
	send(l)
	u.failing.Store(true)
	send(l)
	require.Equal(t, tally{Sent: 2, OK: 1, Failed: 1}, l.tally())
	require.Empty(t, l.why())
	require.Len(t, u.arrived(""), 2)

	for _, c := range []struct {
		status int
		rule   string
		want   tally
	}{
		{http.StatusTooManyRequests, "flow", tally{Sent: 1, Limited: 1}},
		{http.StatusServiceUnavailable, "breaker", tally{Sent: 1, Refused: 1}},
		{http.StatusServiceUnavailable, "", tally{Sent: 1, Broken: 1}},
		{http.StatusBadGateway, "", tally{Sent: 1, Broken: 1}},
		{http.StatusOK, "", tally{Sent: 1, Broken: 1}},
	} {
		gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.rule != "" {
				w.Header().Set(refusedBy, c.rule)
			}
			w.WriteHeader(c.status)
		}))
		l := newTestLoad(t, gateway.URL)
		send(l)
		gateway.Close()
		require.Equal(t, c.want, l.tally(), c.status)
		require.Equal(t, c.want.Sent, l.tally().answered())
	}
}

func TestACallWithoutAnswerIsBrokenAndSaysWhy(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer gateway.Close()
	l := newTestLoad(t, gateway.URL)
	send(l)
	require.Equal(t, tally{Sent: 1, Broken: 1}, l.tally())
	require.Contains(t, l.why(), "EOF")
}

// The load is open: it keeps its rate though no call is answered, and ends only when every call has been.
func TestTheLoadDoesNotWaitForAnswers(t *testing.T) {
	u := startTestUpstream(t)
	release := make(chan struct{})
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-release
		u.ServeHTTP(w, r)
	}))
	defer gateway.Close()
	l := newTestLoad(t, gateway.URL)
	l.perSecond.Store(500)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); l.run(ctx) }()
	require.Eventually(t, func() bool { return l.sent.Load() >= 20 }, 30*time.Second, time.Millisecond)
	require.Zero(t, l.tally().answered())
	cancel()
	select {
	case <-done:
		t.Fatal("the load ended before its calls did")
	case <-time.After(10 * time.Millisecond):
	}
	close(release)
	<-done
	require.Equal(t, l.tally().Sent, l.tally().OK)
}

// A machine that cannot keep up is not buried.
func TestTheLoadStopsSendingWhenNothingIsAnswered(t *testing.T) {
	release := make(chan struct{})
	gateway := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer gateway.Close()
	l := newTestLoad(t, gateway.URL)
	l.perSecond.Store(100_000)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); l.run(ctx) }()
	require.Eventually(t, func() bool { return l.sent.Load() == maxUnanswered }, 30*time.Second, time.Millisecond)
	require.Never(t, func() bool { return l.sent.Load() > maxUnanswered }, 20*time.Millisecond, time.Millisecond)
	cancel()
	close(release)
	<-done
	require.Equal(t, l.tally().Sent, l.tally().answered())
}

func TestTheServiceCountsWhatIsThereAtOnce(t *testing.T) {
	u := startTestUpstream(t)
	u.latency.Store(int64(time.Hour))
	l := newTestLoad(t, u.url())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	for range 3 {
		go func() {
			defer func() { done <- struct{}{} }()
			request, _ := http.NewRequestWithContext(ctx, http.MethodGet, u.url(), nil)
			if response, err := l.client.Do(request); err == nil {
				response.Body.Close()
			}
		}()
	}
	require.Eventually(t, func() bool { now, _ := u.busy(); return now == 3 }, 30*time.Second, time.Millisecond)
	cancel()
	for range 3 {
		<-done
	}
	require.Eventually(t, func() bool { now, peak := u.busy(); return now == 0 && peak == 3 }, 30*time.Second, time.Millisecond)
}

func TestMeterMeasuresOverTheLastSecond(t *testing.T) {
	var m meter
	require.Equal(t, tally{}, m.rate(0, tally{Sent: 5}))
	for i := range 20 {
		at := time.Duration(i+1) * 200 * time.Millisecond
		rate := m.rate(at, tally{Sent: 5 + int64(i+1)*20, OK: int64(i+1) * 10})
		require.EqualValues(t, 100, rate.Sent)
		require.EqualValues(t, 50, rate.OK)
	}
	require.LessOrEqual(t, len(m.samples), 7)
	// A second later everything is still.
	still := tally{Sent: 405, OK: 200}
	for i := range 6 {
		m.rate(4*time.Second+time.Duration(i+1)*200*time.Millisecond, still)
	}
	require.Equal(t, tally{}, m.rate(5400*time.Millisecond, still))
}
