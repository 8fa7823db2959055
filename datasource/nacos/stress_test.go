package nacos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos/internal/fakenacos"
)

// Everything at once, on sockets: sources come and go, documents are got and published, the server is killed, forgets, forbids. In the end every source has
// what the server has.
func TestClientConcurrentSafe(t *testing.T) {
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	s := fakenacos.New(fakenacos.Sockets, nil)
	require.NoError(t, s.Start("127.0.0.1:0", "127.0.0.1:0"))
	defer s.Stop()
	s.RequireLogin("cordon", password, 18000)
	for range rounds {
		c, err := New(Config{Servers: []string{s.Address()}, Username: "cordon", Password: password, Timeout: time.Second, Reread: 200 * time.Millisecond})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		const documents = 5
		var mu sync.Mutex
		newest := map[string]string{}
		var lasting, passing sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for i := range documents {
			id := fmt.Sprint("d", i)
			lasting.Go(func() {
				err := c.Source(id).Watch(t.Context(), func(u datasource.Update) {
					if u.Err == nil {
						mu.Lock()
						newest[id] = string(u.Document.Data)
						mu.Unlock()
					}
				})
				if !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
			passing.Go(func() {
				for ctx.Err() == nil {
					watching, stop := context.WithCancel(ctx)
					first := make(chan struct{}, 1)
					go func() {
						select {
						case <-first:
						case <-ctx.Done():
						}
						stop()
					}()
					_ = c.Source(id).Watch(watching, func(datasource.Update) {
						select {
						case first <- struct{}{}:
						default:
						}
					})
				}
			})
			passing.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					_, _ = c.Get(ctx, DefaultGroup, id)
					_ = c.Publish(ctx, DefaultGroup, id, fmt.Append(nil, n))
					if n%10 == 0 {
						_ = c.Delete(ctx, DefaultGroup, id)
					}
				}
			})
		}
		for range 8 {
			switch rand.IntN(5) {
			case 0:
				s.Stop()
				for s.Restart() != nil { // the port may not be free yet
					runtime.Gosched()
				}
			case 1:
				s.Drop()
			case 2:
				s.ExpireTokens()
			case 3:
				s.Reset("", "")
			case 4:
				s.Forbid.Store(!s.Forbid.Load())
			}
			_, _ = c.Get(ctx, DefaultGroup, "d0")
		}
		s.Forbid.Store(false)
		cancel()
		passing.Wait()
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			for i := range documents {
				// Again and again: a publish that nobody waits for any more may still be under way.
				s.SetQuietly(fakenacos.Key{Group: DefaultGroup, DataID: fmt.Sprint("d", i)}, "last")
				if newest[fmt.Sprint("d", i)] != "last" {
					return false
				}
			}
			return true
		}, 30*time.Second, 10*time.Millisecond)
		var closing sync.WaitGroup
		for range 4 {
			closing.Go(func() { _ = c.Close() })
		}
		closing.Wait()
		lasting.Wait()
	}
}
