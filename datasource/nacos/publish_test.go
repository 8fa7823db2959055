package nacos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos/internal/fakenacos"
)

func TestGet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		_, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
		require.ErrorIs(t, err, datasource.ErrAbsent)
		require.EqualError(t, err, "nacos public/DEFAULT_GROUP/rules.yaml: a:8848: document does not exist, or is empty")
		w.server.Set(rules, "größer")
		content, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
		require.NoError(t, err)
		require.Equal(t, Content{Data: []byte("größer"), MD5: sum("größer")}, content)
		var none context.Context
		_, err = c.Get(none, DefaultGroup, "rules.yaml")
		require.NoError(t, err)
	})
}

func TestGetEndsWithItsContext(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		w.server.Hang("ConfigQueryRequest")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		_, err := c.Get(ctx, DefaultGroup, "rules.yaml")
		require.EqualError(t, err, "nacos public/DEFAULT_GROUP/rules.yaml: read: a:8848: enough")
		w.server.Stop()
		w.server.Hang("")
		rest(time.Minute)
		require.NoError(t, w.server.Restart())
		ctx, cancel = context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		_, err = c.Get(ctx, DefaultGroup, "rules.yaml")
		require.ErrorContains(t, err, "no connection: a:8848: enough")
	})
}

// Whoever asks while the server is away is told as soon as it was tried once more.
func TestGetWhileServerIsAway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		w.server.Set(rules, "one")
		w.server.Stop()
		for range 5 {
			began := time.Now()
			_, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
			require.EqualError(t, err, "nacos public/DEFAULT_GROUP/rules.yaml: no connection: a:8848: dial a:9848: connection refused")
			require.LessOrEqual(t, time.Since(began), minPause)
			rest(time.Minute)
		}
		require.NoError(t, w.server.Restart())
		_, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
		require.NoError(t, err)
	})
}

func TestPublish(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		r := w.read(c.Source("rules.yaml"))
		rest(time.Second)
		require.NoError(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("cordon: 1\n")))
		rest(0)
		require.Equal(t, []string{absent, "cordon: 1\n"}, r.took())
		require.NoError(t, c.Delete(t.Context(), DefaultGroup, "rules.yaml"))
		rest(0)
		require.Equal(t, []string{absent}, r.took())
		require.NoError(t, c.Delete(t.Context(), DefaultGroup, "rules.yaml"), "there is none already")
	})
}

func TestContentType(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		for _, test := range []struct{ data, asked, want string }{
			{"cordon: 1", "", "yaml"},
			{` [{"resource":"x"}]`, "", "json"},
			{`{"cordon":1}`, "", "json"},
			{`[broken`, "", "yaml"},
			{`{flow: []}`, "", "yaml"},
			{`"text"`, "", "yaml"},
			{"cordon: 1", "text", "text"},
		} {
			require.NoError(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte(test.data), ContentType(test.asked), nil))
			require.Equal(t, test.want, w.server.Kind(rules), test.data)
			require.Equal(t, test.data, w.server.Document(rules))
		}
	})
}

// What would be refused is never stored.
func TestPublishRefuses(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		bad := errors.New("flow[0].limit: is -1")
		for _, test := range []struct {
			data string
			opts []PublishOption
			want string
		}{
			{"", nil, "there is nothing in the data; want a document, or Delete"},
			{" \n\t", nil, "there is nothing in the data"},
			{"\xff\xfe[\x00]\x00", nil, "is no UTF-8"},
			{"x", []PublishOption{Validate(func([]byte) error { return nil }), Validate(func([]byte) error { return bad })}, "publish: the document was refused, nothing was sent: flow[0].limit: is -1"},
		} {
			err := c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte(test.data), test.opts...)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "nacos public/DEFAULT_GROUP/rules.yaml: ")
		}
		require.Zero(t, w.server.Connections(), "nothing was sent")
		require.NoError(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("x"), Validate(nil), Validate(func(data []byte) error {
			require.Equal(t, "x", string(data))
			return nil
		})))
	})
}

func TestPublishIfMD5(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		publish := func(data, md5 string) error {
			return c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte(data), IfMD5(md5))
		}
		require.NoError(t, publish("one", ""), "there is none yet")
		conflict := func(err error, want, have string) {
			t.Helper()
			require.ErrorIs(t, err, ErrConflict)
			var c *ConflictError
			require.ErrorAs(t, err, &c)
			require.Equal(t, ConflictError{Group: DefaultGroup, DataID: "rules.yaml", Want: want, Have: have}, *c)
		}
		conflict(publish("two", ""), "", sum("one"))
		conflict(publish("two", sum("zero")), sum("zero"), sum("one"))
		require.EqualError(t, publish("two", ""), "nacos public/DEFAULT_GROUP/rules.yaml: document was changed by somebody else: "+
			"want no document, the server has md5 "+sum("one")+"; read it again and decide")
		require.Equal(t, "one", w.server.Document(rules))
		require.NoError(t, publish("two", strings.ToUpper(sum("one"))))
		require.NoError(t, publish("three", sum("two")))
		w.server.Set(rules, "")
		conflict(publish("four", sum("three")), sum("three"), "")
		require.Empty(t, w.server.Document(rules), "what was deleted is not brought back")
	})
}

// Right after a publish the server may still say what was there before: that is no conflict.
func TestPublishIfMD5WhileServerAnswersOldContent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		w.server.Set(rules, "one")
		w.server.Freeze(rules)
		w.server.Set(rules, "two")
		thaw := time.AfterFunc(500*time.Millisecond, func() { w.server.Thaw(rules) })
		defer thaw.Stop()
		require.NoError(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("three"), IfMD5(sum("two"))))
		require.Equal(t, "three", w.server.Document(rules))
	})
}

// Somebody publishes between the comparison and ours: the server notices.
func TestPublishIfMD5AtTheSameTime(t *testing.T) {
	for _, before := range []string{"", "one"} {
		inWorld(t, func(t *testing.T, w *world) {
			c := w.client(w.config())
			w.server.Set(rules, before)
			w.server.Hang("ConfigPublishRequest")
			result := make(chan error)
			go func() {
				result <- c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("ours"), IfMD5(sum(before)))
			}()
			rest(time.Second)
			w.server.Set(rules, "theirs")
			w.server.Answer("ConfigPublishRequest")
			err := <-result
			var conflict *ConflictError
			require.ErrorAs(t, err, &conflict)
			require.Equal(t, sum("theirs"), conflict.Have)
			require.Equal(t, "theirs", w.server.Document(rules))
		})
	}
}

// A server that stores whatever MD5 is asked for: what was there when Publish looked is safe all the same.
func TestPublishIfMD5OverServerThatDoesNotCompare(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.NoCAS.Store(true)
		c := w.client(w.config())
		w.server.Set(rules, "theirs")
		for _, md5 := range []string{"", sum("other")} {
			require.ErrorIs(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("ours"), IfMD5(md5)), ErrConflict)
		}
		require.Equal(t, "theirs", w.server.Document(rules))
	})
}

// Of several who create a document at the same moment one has, also over a server that tells all of them so.
func TestPublishCreatesOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.BlindAdd.Store(true)
		w.server.Freeze(rules) // what is stored is not answered with at once
		w.server.Hang("ConfigPublishRequest")
		errs := make([]error, 5)
		var all sync.WaitGroup
		for i := range errs {
			c := w.client(w.config())
			all.Go(func() {
				errs[i] = c.Publish(t.Context(), DefaultGroup, "rules.yaml", fmt.Append(nil, i), IfMD5(""))
			})
		}
		rest(time.Second)
		w.server.Answer("ConfigPublishRequest")
		rest(settle / 2)
		w.server.Thaw(rules)
		all.Wait()
		stored := w.server.Document(rules)
		for i, err := range errs {
			if fmt.Sprint(i) == stored {
				require.NoError(t, err)
				continue
			}
			var conflict *ConflictError
			require.ErrorAs(t, err, &conflict)
			require.Equal(t, ConflictError{Group: DefaultGroup, DataID: "rules.yaml", Have: sum(stored)}, *conflict)
		}
	})
}

// What is created is created, though nobody can look at it any more.
func TestPublishCreatesAndServerIsGone(t *testing.T) {
	for name, then := range map[string]func(*fakenacos.Server){
		"gone":      func(s *fakenacos.Server) { s.Stop() },
		"forbidden": func(s *fakenacos.Server) { s.Forbid.Store(true) },
		"deleted":   func(s *fakenacos.Server) { s.Set(rules, "") },
	} {
		inWorld(t, func(t *testing.T, w *world) {
			c := w.client(w.config())
			w.server.Freeze(rules)
			timer := time.AfterFunc(settle/2, func() { then(w.server) })
			defer timer.Stop()
			require.NoError(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("ours"), IfMD5("")), name)
		})
	}
}

func TestPublishIsNotAnswered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		w.server.Hang("ConfigPublishRequest")
		err := c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("x"))
		require.EqualError(t, err, "nacos public/DEFAULT_GROUP/rules.yaml: publish: a:8848: no answer within 3s")
		require.Equal(t, 1, w.server.Count("ConfigPublishRequest"), "never sent twice")
		w.server.Hang("ConfigRemoveRequest")
		require.ErrorContains(t, c.Delete(t.Context(), DefaultGroup, "rules.yaml"), "delete: a:8848: no answer within 3s")
	})
}

// A document may be large: a rule set of ten thousand rules has some 2 MB.
func TestLargeDocuments(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		large := strings.Repeat("- rule\n", 1<<18)
		require.NoError(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte(large)))
		content, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
		require.NoError(t, err)
		require.Equal(t, large, string(content.Data))
		require.NoError(t, c.Close())
		c = w.client(w.config())
		c.dialer.largest = 1 << 20
		r := w.read(c.Source("rules.yaml"))
		rest(time.Second)
		require.Contains(t, r.took()[0], "received message larger than max")
		w.server.Set(rules, "small")
		rest(time.Second)
		require.Equal(t, []string{"small"}, r.took())
		require.NotContains(t, w.log.String(), "lost", "the connection is as good as before")
	})
}

// Many at once, while connections are lost: a document is what somebody published, a conflict is told exactly where nothing was stored.
func TestPublishersCompete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, log: &lines{}}
		w.server = w.start("a")
		w.server.Set(rules, "-") // what is changed as soon as it is created counts as a conflict
		const publishers, rounds = 4, 10
		done := make(chan int)
		for p := range publishers {
			c := w.client(w.config())
			go func() {
				stored := 0
				for range rounds {
					have, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
					if err != nil && !errors.Is(err, datasource.ErrAbsent) {
						t.Error(err)
					}
					next := string(have.Data) + string(rune('a'+p))
					switch err := c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte(next), IfMD5(have.MD5)); {
					case err == nil:
						stored++
					case !errors.Is(err, ErrConflict):
						t.Error(err)
					}
				}
				done <- stored
			}()
		}
		stored := 0
		for range publishers {
			stored += <-done
		}
		require.Len(t, w.server.Document(fakenacos.Key{Group: DefaultGroup, DataID: "rules.yaml"}), 1+stored, "no update is lost")
		require.Positive(t, stored)
	})
}
