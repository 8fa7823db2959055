package nacos

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos/internal/fakenacos"
)

// faults #66: after a restart the server is listened to again, and what has not changed is not told.
func TestServerRestarts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Minute)
		require.Equal(t, []string{"one"}, r.took())
		for range 3 {
			w.server.Stop()
			rest(0)
			require.NoError(t, w.server.Restart())
			rest(maxPause)
			require.Equal(t, []string{"error: no connection: a:8848: dial a:9848: connection refused", "one"}, r.took())
			w.server.Set(rules, "two")
			rest(0)
			require.Equal(t, []string{"two"}, r.took(), "notices come again")
			w.server.Set(rules, "one")
			rest(0)
			require.Equal(t, []string{"one"}, r.took())
			rest(time.Minute)
		}
		require.Contains(t, w.log.String(), `level=WARN msg="nacos: connection lost" error="a:8848:`)
		require.Equal(t, 4, strings.Count(w.log.String(), `level=INFO msg="nacos: connected" server=a:8848`))
	})
}

// A connection that is lost while the server is there is made anew, and nobody notices.
func TestConnectionIsLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		for range 5 {
			rest(time.Minute)
			w.server.Drop()
			rest(connecting)
			w.server.Set(rules, "two")
			w.server.Set(rules, "one")
			rest(0)
		}
		require.Equal(t, "one", r.took()[0])
		w.server.Drop()
		rest(time.Hour)
		require.Empty(t, r.took())
		require.Equal(t, 1, w.server.Connections())
	})
}

func TestServerRestartsWithOtherContent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Minute)
		w.server.Stop()
		rest(time.Second)
		w.server.SetQuietly(rules, "two")
		require.NoError(t, w.server.Restart())
		rest(maxPause + confirmAfter)
		require.Equal(t, []string{"one", "error: no connection: a:8848: dial a:9848: connection refused", "two"}, r.took())
	})
}

// A server that comes back without its data clears nothing, and is well again once it has them.
func TestServerComesBackEmpty(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Minute)
		w.server.Stop()
		rest(0)
		w.server.Clear()
		require.NoError(t, w.server.Restart())
		rest(time.Hour)
		require.Equal(t, []string{"one", "error: no connection: a:8848: dial a:9848: connection refused", absent}, r.took())
		w.server.Set(rules, "one")
		rest(0)
		require.Equal(t, []string{"one"}, r.took())
	})
}

// What is wrong is told once, and that it is over by the document, be it the same.
func TestServerIsGoneForLong(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		c := w.client(w.config())
		r := w.read(c.Source("rules.yaml"))
		rest(time.Minute)
		w.server.Stop()
		rest(time.Hour)
		refused := "error: no connection: a:8848: dial a:9848: connection refused"
		require.Equal(t, []string{"one", refused}, r.took())
		late := w.read(c.Source("rules.yaml"))
		rest(0)
		require.Equal(t, []string{refused}, late.took(), "whoever comes later is told too")
		require.NoError(t, w.server.Restart())
		rest(maxPause * 6 / 5)
		require.Equal(t, []string{"one"}, r.took())
		require.Equal(t, []string{"one"}, late.took())
	})
}

func TestServerThatIsNotThereAtFirst(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Stop()
		w.server.SetQuietly(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(0)
		require.Equal(t, []string{"0s error: no connection: a:8848: dial a:9848: connection refused"}, r.timed())
		rest(time.Minute)
		require.NoError(t, w.server.Restart())
		rest(maxPause * 6 / 5)
		require.Equal(t, []string{"one"}, r.took())
	})
}

// A server that takes connections and never answers: bounded, told, and nothing is in the way of a recovery.
func TestServerThatNeverAnswers(t *testing.T) {
	for _, kind := range []string{"", "ServerCheckRequest", "HealthCheckRequest"} {
		inWorld(t, func(t *testing.T, w *world) {
			w.server.Set(rules, "one")
			w.server.Hang(kind)
			c := w.client(w.config())
			r := w.read(c.Source("rules.yaml"))
			began := time.Now()
			_, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
			require.ErrorContains(t, err, "a:8848: no answer within 3s", kind)
			require.Equal(t, defaultTimeout, time.Since(began))
			rest(0)
			require.Equal(t, []string{"3s error: no connection: a:8848: no answer within 3s"}, r.timed())
			rest(time.Minute)
			w.server.Answer(kind)
			rest(defaultTimeout + maxPause*6/5)
			require.Equal(t, []string{"one"}, r.took())
		})
	}
}

func TestServerStopsAnswering(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Minute)
		require.Equal(t, []string{"one"}, r.took())
		w.server.Hang("")
		rest(healthEvery + 3*defaultTimeout + connecting)
		said := r.took()
		require.Equal(t, "error: no connection: a:8848: no answer within 3s", said[len(said)-1], "seen although nothing was asked for")
		w.server.SetQuietly(rules, "two")
		w.server.Answer("")
		rest(maxPause*6/5 + 2*confirmAfter)
		require.Equal(t, []string{"two"}, r.took())
	})
}

// Many documents do not make a server that stops answering any slower to find out.
func TestServerStopsAnsweringForManyDocuments(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		var readers []*reader
		for i := range 20 {
			w.server.Set(fakenacos.Key{Group: DefaultGroup, DataID: fmt.Sprint(i)}, "one")
			readers = append(readers, w.read(c.Source(fmt.Sprint(i))))
		}
		rest(time.Minute)
		w.server.Hang("")
		for i := range readers {
			w.server.Notify(fakenacos.Key{Group: DefaultGroup, DataID: fmt.Sprint(i)})
		}
		rest(3*defaultTimeout + connecting)
		for _, r := range readers {
			said := r.took()
			require.Equal(t, "error: no connection: a:8848: no answer within 3s", said[len(said)-1])
		}
		w.server.Answer("")
		rest(defaultTimeout + maxPause*6/5)
		for _, r := range readers {
			require.Equal(t, []string{"one"}, r.took())
		}
	})
}

// One answer that does not come is no loss of the connection as long as the server answers others.
func TestOneAnswerDoesNotCome(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Second)
		w.server.Hang("ConfigQueryRequest")
		w.server.Set(rules, "two")
		rest(2 * defaultTimeout)
		require.Equal(t, []string{"one", "error: read: a:8848: no answer within 3s"}, r.took())
		w.server.Answer("ConfigQueryRequest")
		rest(2 * maxRetry)
		require.Equal(t, []string{"two"}, r.took())
		require.NotContains(t, w.log.String(), "connection lost")
	})
}

func TestServerIsNotReady(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		w.server.NotReady.Store(true)
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Minute)
		require.Equal(t, []string{"error: no connection: a:8848: refused, code 300: server is starting, please try later"}, r.took())
		w.server.NotReady.Store(false)
		rest(maxPause * 6 / 5)
		require.Equal(t, []string{"one"}, r.took())
	})
}

// A server takes a moment to know a new connection.
func TestServerIsSlowToKnow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		w.server.SlowToKnow.Store(50)
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Second)
		require.Equal(t, []string{"one"}, r.took())
		require.NotContains(t, w.log.String(), "lost")
	})
}

// A server that does not know the connection any more is connected to anew.
func TestServerForgetsTheConnection(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		c := w.client(w.config())
		r := w.read(c.Source("rules.yaml"))
		rest(time.Minute)
		w.server.SlowToKnow.Store(1)
		content, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
		require.NoError(t, err, "it is read once more")
		require.Equal(t, "one", string(content.Data))
		rest(time.Second)
		w.server.Set(rules, "two")
		rest(0)
		require.Equal(t, []string{"one", "two"}, r.took())
		require.Equal(t, 1, w.server.Connections())
	})
}

func TestDocumentIsBeingChanged(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		w.server.Changing.Store(changingTries - 1)
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Second)
		require.Equal(t, []string{"one"}, r.took())
		w.server.Changing.Store(changingTries)
		w.server.Set(rules, "two")
		rest(2 * time.Second)
		require.Equal(t, []string{"error: read: a:8848: refused, code 400: requested file is being modified, please try later.", "two"}, r.took())
	})
}

func TestServerAnswersGarbage(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Second)
		w.server.Garbage.Store(true)
		w.server.Push("ConfigChangeNotifyRequest", `{"dataId":`)
		w.server.Push("ClientDetectionRequest", `[]`)
		w.server.Push("ConnectResetRequest", `7`)
		w.server.Push("SomethingNew", `{}`)
		w.server.Push("", "")
		w.server.Set(rules, "two")
		rest(time.Minute)
		said := r.took()
		require.Equal(t, "one", said[0])
		require.Contains(t, said[1], "answer Garbage cannot be read")
		w.server.Garbage.Store(false)
		rest(maxPause*6/5 + 2*confirmAfter)
		said = r.took()
		require.Equal(t, "two", said[len(said)-1])
	})
}

// A server that ends every connection right away is told of, and not asked in a tight loop.
func TestServerEndsConnections(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Second)
		before := w.server.Count("ServerCheckRequest")
		for range 600 {
			w.server.Drop()
			rest(100 * time.Millisecond)
		}
		require.Less(t, w.server.Count("ServerCheckRequest")-before, 40)
		said := r.took()
		require.Contains(t, strings.Join(said, "\n"), "error: connection lost: a:8848: the server ended the connection")
		rest(time.Minute)
		said = append(said, r.took()...)
		require.Equal(t, "one", said[len(said)-1])
	})
}

func TestServerAsksWhetherWeAreThere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		c := w.config()
		c.Namespace = "team-a"
		w.read(w.client(c).Source("rules.yaml"))
		rest(time.Second)
		w.server.Detect()
		w.server.Set(fakenacos.Key{Namespace: "team-a", Group: DefaultGroup, DataID: "rules.yaml"}, "two")
		rest(0)
		require.Equal(t, []string{"ClientDetectionResponse", "ConfigChangeNotifyResponse"}, w.server.Acks())
		require.Equal(t, []fakenacos.Setup{{
			ClientVersion: "Nacos-Go-Client:v2.3.5", Tenant: "team-a", Labels: map[string]string{"source": "sdk", "module": "config"},
		}}, w.server.Setups())
	})
}

// Several servers of a cluster: one is used, and another when that is gone.
func TestSeveralServers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		other := w.start("b")
		servers := []*fakenacos.Server{w.server, other}
		for _, s := range servers {
			s.Set(rules, "one")
		}
		c := w.config()
		c.Servers = []string{"a", "b"}
		client := w.client(c)
		r := w.read(client.Source("rules.yaml"))
		rest(time.Minute)
		require.Equal(t, []string{"one"}, r.took())
		require.Equal(t, 1, w.server.Connections()+other.Connections())
		for range 4 {
			used, spare := w.server, other
			if used.Connections() == 0 {
				used, spare = spare, used
			}
			used.Stop()
			rest(time.Second)
			require.Empty(t, r.took(), "nobody notices")
			require.Equal(t, 1, spare.Connections())
			spare.Set(rules, "two")
			spare.Set(rules, "one")
			rest(0)
			require.NoError(t, used.Restart())
			rest(time.Minute)
			r.took()
		}
		w.server.Stop()
		other.Stop()
		rest(time.Minute)
		require.Equal(t, []string{
			"error: no connection: a:8848: dial a:9848: connection refused; b:8848: dial b:9848: connection refused",
		}, r.took(), "told once, whatever the order they are tried in")
	})
}

// What failed on the old connection is tried at once on the new one.
func TestNewConnectionNewAttempt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		w.server.Forbid.Store(true)
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		for range 10 {
			rest(time.Minute)
			w.server.Drop()
			rest(connecting)
		}
		require.Equal(t, []string{"error: read: a:8848: refused, code 403: authorization failed!"}, r.took())
		rest(time.Minute)
		for w.server.Count("ConfigQueryRequest")%2 == 0 { // just after an attempt
			rest(10 * time.Millisecond)
		}
		w.server.Forbid.Store(false)
		w.server.Drop()
		rest(connecting)
		require.Equal(t, []string{"one"}, r.took())
	})
}

// A server that is about to stop says where to go.
func TestServerSendsElsewhere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hosts := map[string]*fakenacos.Server{"a": w.server, "b": w.start("b"), "c": w.start("c"), "d": w.start("d")}
		for _, s := range hosts {
			s.Set(rules, "one")
		}
		c := w.config()
		c.Servers = []string{"a", "b", "c", "d"}
		r := w.read(w.client(c).Source("rules.yaml"))
		rest(time.Minute)
		for _, to := range [][2]string{{"c", "8848"}, {"d", "7848"}, {"a", "8848"}, {"b", ""}} {
			for _, s := range hosts {
				s.Reset(to[0], to[1])
			}
			rest(time.Minute)
			require.Equal(t, 1, hosts[to[0]].Connections(), to)
		}
		hosts["b"].Reset("", "")
		rest(time.Minute)
		require.Zero(t, hosts["b"].Connections(), "another than the one that asked")
		for _, s := range hosts {
			s.Reset("elsewhere", "8848") // which nobody told us of
			rest(time.Minute)
		}
		connections := 0
		for _, s := range hosts {
			connections += s.Connections()
		}
		require.Equal(t, 1, connections)
		require.Equal(t, []string{"one"}, r.took())
	})
}

func TestLoggerThatPanics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		c := w.config()
		c.Logger = newPanicLogger()
		r := w.read(w.client(c).Source("rules.yaml"))
		rest(time.Second)
		require.Equal(t, []string{"one"}, r.took())
	})
}

// faults #76: clients of a dead server come and go, used or not, and leave nothing. The bubble would not end with a goroutine in it.
func TestThousandClientsOfADeadServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var none fakenacos.Network
		for i := range 1000 {
			c, err := newClient(Config{Servers: []string{"a", "b"}}, none.Dial)
			require.NoError(t, err)
			if i%2 == 0 {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = c.Source("x").Watch(ctx, func(datasource.Update) {})
				}()
				_, err := c.Get(t.Context(), "G", "x")
				require.ErrorContains(t, err, "nacos public/G/x: no connection: a:8848: dial a:9848: connection refused; b:8848")
				if i%4 == 0 {
					cancel()
					<-done
				}
				require.NoError(t, c.Close())
				<-done
				cancel()
			}
			require.NoError(t, c.Close())
			require.NoError(t, c.Close(), "again is harmless")
		}
		synctest.Wait()
	})
}

func TestClose(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		c := w.client(w.config())
		r := w.read(c.Source("rules.yaml"))
		rest(time.Second)
		w.server.Hang("ConfigQueryRequest")
		got := make(chan error)
		go func() {
			_, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
			got <- err
		}()
		synctest.Wait()
		began := time.Now()
		require.NoError(t, c.Close())
		<-r.done
		require.ErrorIs(t, r.err, ErrClosed)
		require.ErrorIs(t, <-got, ErrClosed)
		require.Zero(t, time.Since(began), "nothing is waited for")
		rest(time.Second)
		require.Zero(t, w.server.Connections())

		before := fmt.Sprint(w.server.Count("ServerCheckRequest"), w.server.Count("ConfigQueryRequest"))
		require.ErrorIs(t, c.Source("rules.yaml").Watch(t.Context(), nil), ErrClosed)
		_, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("x")), ErrClosed)
		require.ErrorIs(t, c.Delete(t.Context(), DefaultGroup, "rules.yaml"), ErrClosed)
		require.NoError(t, c.Close())
		rest(time.Hour)
		require.Equal(t, before, fmt.Sprint(w.server.Count("ServerCheckRequest"), w.server.Count("ConfigQueryRequest")), "nothing is asked any more")
	})
}

// Whoever closes the client from where a document is delivered does not wait for itself.
func TestCloseFromWithin(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		c := w.client(w.config())
		err := c.Source("rules.yaml").Watch(t.Context(), func(datasource.Update) { _ = c.Close() })
		require.ErrorIs(t, err, ErrClosed)
	})
}
