package servertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/scripts/nacosserver"
)

// patience bounds every wait. Whatever takes so long is broken: it is far more than any promise.
const patience = 45 * time.Second

// limited is a document with a limit on shop, so many an hour.
func limited(limit int) string {
	return fmt.Sprintf("cordon: 1\nflow: [{id: shop, resource: shop, limit: %d, per: 1h}]\n", limit)
}

// document returns a document of the test's own, in the public namespace.
func document(t *testing.T) nacosserver.Document {
	return nacosserver.Document{Group: nacos.DefaultGroup, DataID: t.Name()[len("Test"):]}
}

// publish stores content as the server's console does.
func publish(t *testing.T, d nacosserver.Document, content string) {
	t.Helper()
	require.NoError(t, realServer(t).Publish(t.Context(), d, content))
}

// begin is publish of a test's first document, and waits for it.
func begin(t *testing.T, d nacosserver.Document, content string) {
	t.Helper()
	publish(t, d, content)
	served(t, d, content)
}

// served waits until the server gives out what it has taken, which is not at once.
func served(t *testing.T, d nacosserver.Document, content string) {
	t.Helper()
	_, ok := eventually(func() bool {
		given, there, err := realServer(t).Read(t.Context(), d)
		require.NoError(t, err)
		return there && given == content
	})
	require.True(t, ok)
}

// connect returns a client of the server at that address.
func connect(t *testing.T, address string, change ...func(*nacos.Config)) *nacos.Client {
	t.Helper()
	config := nacos.Config{Servers: []string{address}}
	for _, c := range change {
		c(&config)
	}
	client, err := nacos.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// A follower is an engine that takes its rules from a document.
type follower struct {
	engine *cordon.Engine
	watch  *cordon.Watch

	mu   sync.Mutex
	read []int // the limits that the source delivered, in order
}

// follow makes an engine follow a document. What Watch said of the start is returned too.
func follow(t *testing.T, source datasource.Source, opts ...cordon.WatchOption) (*follower, error) {
	t.Helper()
	engine, err := cordon.New()
	require.NoError(t, err)
	f := &follower{engine: engine}
	f.watch, err = engine.Watch(context.Background(), source, f.decode, opts...)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	return f, err
}

// followNow is follow of a document that is there.
func followNow(t *testing.T, source datasource.Source, opts ...cordon.WatchOption) *follower {
	t.Helper()
	f, err := follow(t, source, opts...)
	require.NoError(t, err)
	return f
}

// decode reads a native document, and notes the limit in it.
func (f *follower) decode(source string, data []byte) (cordon.Decoded, error) {
	decoded, err := cordon.Native(source, data)
	if err == nil {
		f.mu.Lock()
		f.read = append(f.read, limitIn(decoded.Rules))
		f.mu.Unlock()
	}
	return decoded, err
}

// delivered returns the limits of the good documents that the source delivered, in order.
func (f *follower) delivered() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.read)
}

// limitIn returns the limit on shop in the rules, -1 if there is none.
func limitIn(rules cordon.Rules) int {
	for _, r := range rules.Flow {
		if r.ID == "shop" {
			return int(r.Limit)
		}
	}
	return -1
}

// limit returns the limit in force, -1 if there is none.
func (f *follower) limit() int { return limitIn(f.engine.Rules()) }

// await waits until the limit is in force, and returns when it was.
func (f *follower) await(t *testing.T, limit int) time.Time {
	t.Helper()
	at, ok := eventually(func() bool { return f.limit() == limit })
	require.True(t, ok, "limit %d did not come in force, but %d: %+v", limit, f.limit(), f.watch.Health())
	return at
}

// fails waits until the source's health says what is wrong, by an error that fits.
func (f *follower) fails(t *testing.T, fits func(error) bool) {
	t.Helper()
	_, ok := eventually(func() bool {
		err := f.watch.Health().LastError
		return err != nil && fits(err)
	})
	require.True(t, ok, "%+v", f.watch.Health())
}

// well waits until the source's health says that all is well.
func (f *follower) well(t *testing.T) {
	t.Helper()
	_, ok := eventually(func() bool { return f.watch.Health().LastError == nil })
	require.True(t, ok, "%+v", f.watch.Health())
}

// eventually waits until it is so, and returns since when.
func eventually(so func() bool) (at time.Time, ok bool) {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		holds, now := so(), time.Now()
		if holds || now.After(deadline) {
			return now, holds
		}
	}
}

// A shopper calls shop all the time. How many calls passed tells whether a limit was ever lost: then they would be hundreds.
type shopper struct {
	passed atomic.Int64
	stop   func()
}

func (f *follower) shop(t *testing.T) *shopper {
	s := &shopper{}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	s.stop = func() {
		cancel()
		wg.Wait()
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			if f.engine.Do(context.Background(), "shop", func(context.Context) error { return nil }) == nil {
				s.passed.Add(1)
			}
			time.Sleep(time.Millisecond)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// usedUp waits until so many calls have passed, which is then all that the limit allows.
func (s *shopper) usedUp(t *testing.T, limit int) {
	t.Helper()
	_, ok := eventually(func() bool { return s.passed.Load() >= int64(limit) })
	require.True(t, ok, "only %d of %d calls passed", s.passed.Load(), limit)
	require.Equal(t, int64(limit), s.passed.Load())
}
