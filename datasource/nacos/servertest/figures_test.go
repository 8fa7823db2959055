package servertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/sentinel"
)

// Promised are 30 ms from the server's push (400 ms if it is of ten thousand rules), 300 ms in the median from a publish, and 5 s for one right after another. A machine that does other things as well takes
// longer, so what fails a test is only what would take a fault.
const (
	pushWithin    = 30 * time.Millisecond
	publishWithin = 300 * time.Millisecond
	secondWithin  = 5 * time.Second
	largeWithin   = 400 * time.Millisecond
	// slack is by how many times a promise may be missed.
	slack = 5
)

// rereadAfter is how long after a notice a document is first read again.
const rereadAfter = time.Second

// quiet lets time pass, in which something must not happen.
func quiet(d time.Duration) { time.Sleep(d) }

// took are times that something took.
type took []time.Duration

func (l took) median() time.Duration {
	sorted := slices.Sorted(slices.Values(l))
	return sorted[len(sorted)/2]
}

func (l took) String() string {
	return fmt.Sprintf("median %v, max %v of %d", rounded(l.median()), rounded(slices.Max(l)), len(l))
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// figure shows what was measured, beside what is promised. go test shows it only with -v or when a test fails; the file that the environment variable NACOS_FIGURES names
// gets it in any case.
func figure(t *testing.T, what string, measured fmt.Stringer, promised string) {
	t.Helper()
	line := fmt.Sprintf("%-50s %s", what, measured)
	if promised != "" {
		line += " (promised: " + promised + ")"
	}
	t.Log(line)
	path := os.Getenv("NACOS_FIGURES")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	_, err = fmt.Fprintln(f, line)
	require.NoError(t, errors.Join(err, f.Close()))
}

// How long an edit takes to be in force: from its publication over HTTP, and from the server's push.
func TestFigures(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(1))
	n := newNetwork(t, s, whole)
	f := followNow(t, connect(t, n.address()).Source(d.DataID))
	quiet(rereadAfter)
	var byPush, byPublish took
	for limit := 2; limit <= 16; limit++ {
		began := time.Now()
		publish(t, d, limited(limit))
		at := f.await(t, limit)
		require.True(t, n.lastPush().After(began), "what came in force was not pushed")
		require.Less(t, at.Sub(began), slack*secondWithin, "by a notice, and not by the steady pace")
		byPublish = append(byPublish, at.Sub(began))
		byPush = append(byPush, at.Sub(n.lastPush()))
		quiet(rereadAfter / 2)
	}
	figure(t, "push → in force", byPush, "30ms")
	figure(t, "publish over HTTP → in force", byPublish, "median 300ms")
	require.LessOrEqual(t, byPush.median(), slack*pushWithin)
	require.LessOrEqual(t, byPublish.median(), slack*publishWithin)
}

// Notices get lost when a publication comes right after another.
func TestSecondRightAfterFirst(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(1))
	f := followNow(t, connect(t, s.Address()).Source(d.DataID))
	var second took
	for limit := 3; limit <= 21; limit += 2 {
		publish(t, d, limited(limit-1))
		began := time.Now()
		publish(t, d, limited(limit))
		second = append(second, f.await(t, limit).Sub(began))
	}
	figure(t, "second publish right after the first → in force", second, "5s")
	require.LessOrEqual(t, slices.Max(second), slack*secondWithin)
	quiet(4 * rereadAfter)
	require.Equal(t, 21, f.limit())
}

// Of a hundred edits in a second the last one is in force at the end, and stays.
func TestHundredEditsInASecond(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(1))
	f := followNow(t, connect(t, s.Address()).Source(d.DataID))
	began := time.Now()
	for i := range 100 {
		time.Sleep(time.Until(began.Add(time.Duration(i) * 10 * time.Millisecond)))
		publish(t, d, limited(2+i))
	}
	edited := time.Now()
	last := f.await(t, 101).Sub(edited)
	figure(t, fmt.Sprintf("100 edits in %v, the last one → in force", rounded(edited.Sub(began))), rounded(last), "5s")
	require.LessOrEqual(t, last, slack*secondWithin)
	quiet(4 * rereadAfter)
	require.Equal(t, 101, f.limit())
	read := f.delivered()
	require.Less(t, len(read), 102, "each edit once at most, and none twice")
}

// A document of ten thousand rules, 2 MB, is in force soon after it came.
func TestLargeDocument(t *testing.T) {
	const rules = 10_000
	s, d := realServer(t), document(t)
	begin(t, d, "[]")
	n := newNetwork(t, s, whole)
	engine, err := cordon.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	source := connect(t, n.address()).Source(d.DataID)
	_, err = engine.Watch(context.Background(), source, sentinel.Decoder(sentinel.Flow))
	require.NoError(t, err)
	quiet(rereadAfter / 2)

	var text strings.Builder
	for i := range rules {
		fmt.Fprintf(&text, `,{"resource":"GET:/services/%04d/orders/{id}","limitApp":"default","grade":1,"count":%d,"strategy":0,"refResource":"","controlBehavior":0,"warmUpPeriodSec":10,"maxQueueingTimeMs":500,"clusterMode":false}`, i, i+1)
	}
	data := []byte("[" + text.String()[1:] + "]")
	require.NoError(t, connect(t, s.Address()).Publish(t.Context(), d.Group, d.DataID, data))
	at, ok := eventually(func() bool { return len(engine.Rules().Flow) == rules })
	require.True(t, ok)
	figure(t, fmt.Sprintf("push of %d rules, %.1f MB → in force", rules, float64(len(data))/1e6), rounded(at.Sub(n.lastPush())), "400ms")
	require.LessOrEqual(t, at.Sub(n.lastPush()), 10*slack*largeWithin)
}
