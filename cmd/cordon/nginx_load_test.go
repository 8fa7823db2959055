package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// flood sends requests for that long, as fast as inTransit connections take them, and returns how many were sent and how many admitted, and by what.
func flood(t *testing.T, url string, d time.Duration) (sent, admitted int, with string) {
	t.Helper()
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		l := startLoad(url, inTransit, 3000)
		time.Sleep(d)
		all := l.stop()
		return len(all), all.count(t, 200, 429, "flow"), "the test's own load"
	}
	out, err := exec.Command(wrk, "-t1", "-c"+strconv.Itoa(inTransit), "-d"+strconv.Itoa(int(d.Seconds()))+"s", "--timeout", "10s", url).CombinedOutput()
	require.NoError(t, err, string(out))
	require.NotContains(t, string(out), "Socket errors")
	number := func(pattern string) int {
		found := regexp.MustCompile(pattern).FindStringSubmatch(string(out))
		require.NotNil(t, found, string(out))
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		return n
	}
	sent = number(`(\d+) requests in`)
	return sent, sent - number(`Non-2xx or 3xx responses: (\d+)`), "wrk"
}

// An answer is what became of one request.
type answer struct {
	status int
	rule   string // the kind of the rule that refused, "" if none did
	nginx  bool   // nginx answered
	err    error
}

type answerList []answer

// count requires every answer to be one of nginx's with the status it gives, or a refusal of that status by that kind of rule. It returns how many nginx gave.
func (l answerList) count(t *testing.T, byNginx, byRule int, kind string) int {
	t.Helper()
	n := 0
	for i, a := range l {
		switch a {
		case answer{status: byNginx, nginx: true}:
			n++
		case answer{status: byRule, rule: kind}:
		default:
			t.Fatalf("answer %d of %d is %+v", i, len(l), a)
		}
	}
	return n
}

// A load sends requests by a schedule: when an answer is late, the requests that were due meanwhile are sent as soon as a connection is free.
type load struct {
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu      sync.Mutex
	answers answerList  // guarded by mu while there are workers, as what follows
	times   []timedSpan // of the answers
}

// A timedSpan is when a request was sent, and how long it took.
type timedSpan struct {
	sent time.Time
	took time.Duration
}

// startLoad starts a load over that many connections.
func startLoad(url string, connections, perSecond int) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel}
	begun := time.Now()
	every := time.Second / time.Duration(perSecond)
	for first := range connections {
		l.workers.Go(func() {
			client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxConnsPerHost: 1}}
			defer client.CloseIdleConnections()
			for i := first; ; i += connections {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Until(begun.Add(time.Duration(i) * every))):
				}
				sent := time.Now()
				a := ask(client, url)
				l.mu.Lock()
				l.answers = append(l.answers, a)
				l.times = append(l.times, timedSpan{sent, time.Since(sent)})
				l.mu.Unlock()
			}
		})
	}
	return l
}

// stop ends the load, waits for what is under way, and returns all answers. It may be called again.
func (l *load) stop() answerList {
	l.cancel()
	l.workers.Wait()
	return l.answers
}

// ask makes one request and reads its whole answer.
func ask(client *http.Client, url string) answer {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return answer{err: err}
	}
	return do(client, r)
}

// do makes a request and reads its whole answer.
func do(client *http.Client, r *http.Request) answer {
	response, err := client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	a := answer{
		status: response.StatusCode,
		rule:   response.Header.Get("Cordon-Refused"),
		nginx:  response.Header.Get("Upstream") == "nginx",
		err:    err,
	}
	if err == nil && len(strings.TrimSpace(string(body))) == 0 {
		a.err = fmt.Errorf("an empty answer")
	}
	return a
}
