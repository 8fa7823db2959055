package nacos

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos/internal/fakenacos"
)

// absent is what a source says of a document that there is none of.
const absent = "error: a:8848: document does not exist, or is empty"

func TestSourceDeliversWhatIsThereAndEveryChange(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(connecting)
		require.Equal(t, []string{"0s one"}, r.timed())
		rest(time.Second)
		w.server.Set(rules, "two")
		rest(0)
		require.Equal(t, []string{"1s two"}, r.timed(), "at once, nothing is waited for")
		w.server.Set(rules, "two")
		rest(time.Hour)
		require.Empty(t, r.took(), "identical content says nothing")
	})
}

func TestNameAndVersion(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		require.Equal(t, "nacos:public/DEFAULT_GROUP/rules.yaml", c.Source("rules.yaml").Name())
		other := w.config()
		other.Namespace = "team-a"
		require.Equal(t, "nacos:team-a/G/x", w.client(other).Source("x", Group("G"), nil).Name())

		w.server.Set(rules, "one")
		p := datasource.Start(t.Context(), c.Source("rules.yaml"), func(datasource.Document) error { return nil }, datasource.PumpOptions{})
		rest(connecting)
		require.Equal(t, "2023-11-14T22:13:20.000Z-"+sum("one")[:12], p.Health().Version)
		require.NoError(t, p.Close())
	})
}

// Two publishes in a row, and only the first one's notice comes.
func TestNoticeLostRightAfterAnother(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 900 * time.Millisecond, 1500 * time.Millisecond} {
		inWorld(t, func(t *testing.T, w *world) {
			w.server.Set(rules, "one")
			r := w.read(w.client(w.config()).Source("rules.yaml"))
			rest(time.Second)
			w.server.Set(rules, "two")
			rest(after)
			w.server.SetQuietly(rules, "three")
			rest(4 * time.Second)
			said := r.took()
			require.Equal(t, "three", said[len(said)-1], "published %v after", after)
		})
	}
}

func TestNoticeLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Minute)
		require.Equal(t, []string{"one"}, r.took())
		w.server.SetQuietly(rules, "two")
		rest(defaultReread*6/5 + confirmAfter)
		require.Equal(t, []string{"two"}, r.took())
	})
}

// A server that wrongly says that nothing has changed is found out, only later.
func TestNoticeLostAndServerWrong(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Second)
		require.Equal(t, []string{"one"}, r.took())
		w.server.SameMD5.Store(true)
		w.server.SetQuietly(rules, "two")
		rest(fullLook*defaultReread*6/5 + confirmAfter)
		require.Equal(t, []string{"two"}, r.took())
	})
}

// At rest the server is asked whether the documents are the same, not for the documents.
func TestAtRestDocumentsAreNotSent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		for i := range 20 {
			w.server.Set(fakenacos.Key{Group: DefaultGroup, DataID: fmt.Sprint(i)}, "one")
			w.read(c.Source(fmt.Sprint(i)))
		}
		rest(time.Second)
		require.Equal(t, 20, w.server.Count("ConfigQueryRequest"))
		require.Equal(t, 1, w.server.Connections())
		listens := w.server.Count("ConfigBatchListenRequest")
		rest(3 * time.Minute)
		require.Equal(t, 20, w.server.Count("ConfigQueryRequest"))
		require.InDelta(t, 6, w.server.Count("ConfigBatchListenRequest")-listens, 2)
		rest(3 * time.Minute)
		require.Equal(t, 40, w.server.Count("ConfigQueryRequest"), "each is read once more")
	})
}

// Right after a publish the server still answers with what was there before.
func TestServerAnswersOldContent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Second)
		w.server.Freeze(rules)
		w.server.Set(rules, "two")
		rest(500 * time.Millisecond)
		w.server.Thaw(rules)
		rest(4 * time.Second)
		require.Equal(t, []string{"0s one", "3s two"}, r.timed(), "the next reading sees it, the one after confirms it")
	})
}

// What only one reading says does not count.
func TestServerAnswersOldContentLater(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "old")
		w.server.Freeze(rules)
		w.server.Set(rules, "new")
		c := w.config()
		c.Reread = time.Second
		r := w.read(w.client(c).Source("rules.yaml"))
		rest(connecting)
		w.server.Thaw(rules)
		rest(3 * time.Second)
		require.Equal(t, []string{"old", "new"}, r.took())
		before := w.server.Count("ConfigQueryRequest")
		w.server.SetQuietly(rules, "old") // for a moment, as another server of a cluster that is behind
		for w.server.Count("ConfigQueryRequest") == before {
			rest(time.Millisecond)
		}
		w.server.SetQuietly(rules, "new")
		rest(time.Minute)
		require.Empty(t, r.took())
	})
}

// faults #66: a document that does not exist yet is picked up once it does, deletion clears nothing, and the same content is good again after it.
func TestAbsence(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Minute)
		require.Equal(t, []string{absent}, r.took(), "told once")
		w.server.Set(rules, "one")
		rest(0)
		require.Equal(t, []string{"one"}, r.took())
		w.server.Set(rules, "")
		rest(time.Hour)
		require.Equal(t, []string{absent}, r.took())
		w.server.Set(rules, "one")
		rest(0)
		require.Equal(t, []string{"one"}, r.took())
	})
}

// A document that was just published: the server does not have it yet at the first reading, and gives no notice.
func TestAbsenceForAMoment(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.client(w.config())
		w.server.Freeze(rules)
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(absentAfter / 2)
		w.server.Thaw(rules)
		rest(time.Minute)
		require.Equal(t, []string{"one"}, r.took())
	})
}

func TestEmptyClears(t *testing.T) {
	for _, test := range []struct {
		name   string
		source func(*Client) *Source
		empty  string
	}{
		{"plain", func(c *Client) *Source { return c.Source("app-flow-rules", Group(SentinelGroup), EmptyClears()) }, ""},
		{"said", func(c *Client) *Source { return c.Source("app-flow-rules", Group(SentinelGroup), EmptyIs("cordon: 1")) }, "cordon: 1"},
		{"sentinel", func(c *Client) *Source { return c.Sentinel("app", EmptyClears())[0].Source }, "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := fakenacos.Key{Group: SentinelGroup, DataID: "app-flow-rules"}
				r := w.read(test.source(w.client(w.config())))
				rest(time.Minute)
				require.Equal(t, []string{"1s " + test.empty}, r.timed(), "read twice")
				require.Equal(t, 1, strings.Count(w.log.String(), "level=WARN"))
				require.Contains(t, w.log.String(), "that clears its rules, as EmptyClears or EmptyIs wants\" server=a:8848 document=SENTINEL_GROUP/app-flow-rules")
				w.server.Set(k, "one")
				rest(0)
				w.server.Set(k, "")
				rest(500 * time.Millisecond)
				require.Equal(t, []string{"one"}, r.took())
				w.server.Set(k, "one") // it was a slip
				rest(time.Minute)
				require.Empty(t, r.took())
				w.server.Set(k, "")
				rest(time.Second)
				require.Equal(t, []string{test.empty}, r.took())
				require.Equal(t, 2, strings.Count(w.log.String(), "clears its rules"), "%s", w.log)
			})
		})
	}
}

func TestSentinelLayout(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var all []string
		for _, d := range w.client(w.config()).Sentinel("shop") {
			all = append(all, d.Kind+" "+d.Source.Name())
		}
		require.Equal(t, []string{
			"flow nacos:public/SENTINEL_GROUP/shop-flow-rules",
			"breaker nacos:public/SENTINEL_GROUP/shop-degrade-rules",
			"param nacos:public/SENTINEL_GROUP/shop-param-rules",
			"system nacos:public/SENTINEL_GROUP/shop-system-rules",
			"authority nacos:public/SENTINEL_GROUP/shop-authority-rules",
			"gateway nacos:public/SENTINEL_GROUP/shop-gateway-flow-rules",
			"api nacos:public/SENTINEL_GROUP/shop-gateway-api-rules",
		}, all)
		require.Equal(t, "nacos:public/G/shop-flow-rules", w.client(w.config()).Sentinel("shop", Group("G"))[0].Source.Name())
	})
}

func TestNamespacesAndGroupsAreApart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		other := w.config()
		other.Namespace = "team-a"
		public := w.config()
		public.Namespace = "public"
		a, b := w.client(other), w.client(public)
		all := map[fakenacos.Key]*reader{
			{Namespace: "team-a", Group: DefaultGroup, DataID: "x"}: w.read(a.Source("x")),
			{Namespace: "team-a", Group: "G", DataID: "x"}:          w.read(a.Source("x", Group("G"))),
			{Group: DefaultGroup, DataID: "x"}:                      w.read(b.Source("x")),
			{Group: "G", DataID: "x"}:                               w.read(b.Source("x", Group("G"))),
		}
		rest(time.Second)
		for _, r := range all {
			require.Equal(t, []string{absent}, r.took())
		}
		for k, r := range all {
			w.server.Set(k, k.Namespace+k.Group)
			rest(0)
			require.Equal(t, []string{k.Namespace + k.Group}, r.took())
		}
		for _, r := range all {
			require.Empty(t, r.took(), "what is another's is not delivered")
		}
	})
}

// A hundred edits at once: what is delivered never goes back, and the last is in force at once.
func TestBurst(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "0")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Second)
		for i := range 100 {
			w.server.Set(rules, strconv.Itoa(i+1))
			if i%3 == 0 {
				rest(0)
			}
		}
		rest(0)
		said := r.took()
		require.Equal(t, "100", said[len(said)-1])
		require.True(t, slices.IsSortedFunc(said, func(a, b string) int {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			return x - y
		}), "%v", said)
	})
}

// Sources come and go while the client is connected; two of one document are independent of each other.
func TestSourcesComeAndGo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		w.server.Set(rules, "one")
		a := w.read(c.Source("rules.yaml"))
		rest(time.Minute)
		b := w.read(c.Source("rules.yaml"))
		rest(0)
		require.Equal(t, []string{"0s one"}, b.timed())
		later := w.read(c.Source("later.yaml"))
		rest(absentAfter - time.Millisecond)
		require.Empty(t, later.took())
		rest(time.Millisecond)
		require.Equal(t, []string{absent}, later.took())
		a.stop()
		<-a.done
		require.ErrorIs(t, a.err, context.Canceled)
		w.server.Set(rules, "two")
		w.server.Set(fakenacos.Key{Group: DefaultGroup, DataID: "later.yaml"}, "here")
		rest(0)
		require.Equal(t, []string{"one"}, a.took())
		require.Equal(t, []string{"two"}, b.took())
		require.Equal(t, []string{"here"}, later.took())
		require.Equal(t, 1, w.server.Connections())
	})
}

// A source whose reader takes its time delays nobody else, and gets the newest document next.
func TestSlowReader(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.client(w.config())
		w.server.Set(rules, "one")
		var slow []string
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = c.Source("rules.yaml").Watch(ctx, func(u datasource.Update) {
				slow = append(slow, string(u.Document.Data))
				time.Sleep(time.Minute)
			})
		}()
		r := w.read(c.Source("rules.yaml"))
		for _, content := range []string{"two", "three", "four"} {
			rest(time.Second)
			w.server.Set(rules, content)
		}
		rest(0)
		require.Equal(t, []string{"one", "two", "three", "four"}, r.took())
		rest(time.Hour)
		cancel()
		<-done
		require.Equal(t, []string{"one", "four"}, slow)
	})
}

func TestNamesAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Servers: []string{"a"}})
		require.NoError(t, err)
		for _, test := range []struct {
			source *Source
			want   string
		}{
			{c.Source(""), "data id \"\" is empty"},
			{c.Source("a b"), "data id \"a b\" has ' ' in it"},
			{c.Source("規則"), "has '規' in it"},
			{c.Source("x", Group("")), "group \"\" is empty"},
			{c.Source("x", Group("a/b")), "group \"a/b\" has '/' in it; want letters, digits and _ - . : only"},
			{c.Source(string(make([]byte, 257))), "has 257 characters; want at most 256"},
		} {
			err := test.source.Watch(t.Context(), nil)
			require.ErrorContains(t, err, test.want)
			require.True(t, datasource.IsPermanent(err))
			pump := datasource.Start(t.Context(), test.source, func(datasource.Document) error { return nil }, datasource.PumpOptions{})
			require.ErrorContains(t, pump.First(t.Context()), test.want)
			require.NoError(t, pump.Close())
			_, err = c.Get(t.Context(), test.source.key.group, test.source.key.dataID)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, c.Publish(t.Context(), test.source.key.group, test.source.key.dataID, []byte("x")), test.want)
			require.ErrorContains(t, c.Delete(t.Context(), test.source.key.group, test.source.key.dataID), test.want)
		}
		require.NoError(t, c.Close())
	})
}
