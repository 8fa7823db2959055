package nacos

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource/nacos/internal/fakenacos"
)

const password = "geheim&=+ %"

// guarded is the configuration of most clients, with user and password.
func (w *world) guarded() Config {
	c := w.config()
	c.Username, c.Password = "cordon", password
	return c
}

func TestLogin(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.RequireLogin("cordon", password, 1800)
		w.server.Set(rules, "one")
		c := w.client(w.guarded())
		r := w.read(c.Source("rules.yaml"))
		rest(connecting)
		require.Equal(t, []string{"one"}, r.took())
		w.server.Set(rules, "two")
		rest(20 * time.Minute)
		require.Equal(t, []string{"two"}, r.took())
		require.Equal(t, 1, w.server.Logins(), "one for all requests")
		rest(9 * time.Minute)
		require.Equal(t, 2, w.server.Logins(), "renewed before the token runs out")
		rest(time.Hour)
		require.Empty(t, r.took())
	})
}

func TestNobodyLogsIn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.RequireLogin("cordon", password, 18000)
		w.server.Set(rules, "one")
		c := w.client(w.config())
		r := w.read(c.Source("rules.yaml"))
		rest(time.Minute)
		require.Equal(t, []string{"error: read: a:8848: refused, code 403: user not found!"}, r.took())
		_, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
		require.ErrorIs(t, err, ErrForbidden)
	})
}

func TestWrongPassword(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.RequireLogin("cordon", password+"x", 18000)
		w.server.Set(rules, "one")
		c := w.client(w.guarded())
		r := w.read(c.Source("rules.yaml"))
		rest(time.Minute)
		said := r.took()
		require.Equal(t, []string{"error: read: login as cordon at http://a:8848/nacos/v1/auth/users/login: forbidden: 403 Forbidden: unknown user!"}, said)
		_, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
		require.ErrorIs(t, err, ErrForbidden)
		require.NotContains(t, w.log.String()+err.Error()+said[0], "geheim")
		require.Less(t, w.server.Count("login"), 40, "not in a tight loop")
		before := w.server.Count("login")
		for range 20 {
			_, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
			require.ErrorIs(t, err, ErrForbidden)
		}
		require.LessOrEqual(t, w.server.Count("login"), before+1, "nor by who asks in one: some servers lock the user out")
		w.server.RequireLogin("cordon", password, 18000)
		rest(2 * maxRetry)
		require.Equal(t, []string{"one"}, r.took(), "it recovers by itself")
	})
}

// A token that is refused although it is not old is replaced, and nobody notices.
func TestTokensExpire(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.RequireLogin("cordon", password, 18000)
		w.server.Set(rules, "one")
		c := w.client(w.guarded())
		r := w.read(c.Source("rules.yaml"))
		rest(time.Minute)
		for range 3 {
			w.server.ExpireTokens()
			require.NoError(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("two")))
			rest(time.Minute)
			w.server.ExpireTokens()
			require.NoError(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("one")))
			rest(time.Minute)
		}
		require.Equal(t, []string{"one", "two", "one", "two", "one", "two", "one"}, r.took())
	})
}

// A token that was just got and is refused is not replaced by another in a loop.
func TestTokensAreNeverGood(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.RequireLogin("cordon", password, 18000)
		w.server.Forbid.Store(true)
		r := w.read(w.client(w.guarded()).Source("rules.yaml"))
		rest(time.Minute)
		require.Equal(t, []string{"error: read: a:8848: refused, code 403: authorization failed!"}, r.took())
		require.Less(t, w.server.Logins(), 40)
	})
}

func TestLoginFails(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   string
	}{
		{500, "caused by:  something\n bad", "500 Internal Server Error: caused by: something bad"},
		{401, strings.Repeat("long ", 100), "forbidden: 401 Unauthorized: " + strings.TrimSpace(strings.Repeat("long ", 40)) + " ..."},
		{302, "", "302 Found: "},
		{200, "<html>", "the answer cannot be read: invalid character '<' looking for beginning of value"},
		{200, "", "the answer cannot be read: unexpected end of JSON input"},
		{200, `{"tokenTtl":18000}`, "the answer has no accessToken"},
		{200, `{"accessToken":7}`, "the answer cannot be read: json: cannot unmarshal number"},
		{200, `{"accessToken":"x","tokenTtl":"soon"}`, "the answer cannot be read: json: cannot unmarshal string"},
		{200, `null`, "the answer has no accessToken"},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.server.RequireLogin("cordon", password, 18000)
			w.server.Set(rules, "one")
			w.server.AnswerLogins(test.status, test.body)
			r := w.read(w.client(w.guarded()).Source("rules.yaml"))
			rest(time.Minute)
			said := r.took()
			require.Len(t, said, 1)
			require.Contains(t, said[0], "error: read: login as cordon at http://a:8848/nacos/v1/auth/users/login: "+test.want)
			w.server.AnswerLogins(0, "")
			rest(2 * maxRetry)
			require.Equal(t, []string{"one"}, r.took())
		})
	}
}

// As long as the token is good, it does not matter that there would be no other.
func TestLoginFailsLater(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.RequireLogin("cordon", password, 3600)
		w.server.Set(rules, "one")
		r := w.read(w.client(w.guarded()).Source("rules.yaml"))
		rest(time.Minute)
		w.server.AnswerLogins(500, "down")
		rest(55 * time.Minute)
		require.Equal(t, []string{"one"}, r.took())
		rest(10 * time.Minute)
		said := r.took()
		require.Equal(t, []string{"error: read: login as cordon at http://a:8848/nacos/v1/auth/users/login: 500 Internal Server Error: down"}, said)
		w.server.AnswerLogins(0, "")
		rest(time.Minute)
		require.Equal(t, []string{"one"}, r.took())
	})
}

// Absurd times to live, which some servers give, do no harm.
func TestTokenTTL(t *testing.T) {
	for _, ttl := range []float64{0, -1, 1e300, 0.001, 1} {
		inWorld(t, func(t *testing.T, w *world) {
			w.server.RequireLogin("cordon", password, ttl)
			w.server.Set(rules, "one")
			r := w.read(w.client(w.guarded()).Source("rules.yaml"))
			rest(time.Minute)
			w.server.Set(rules, "two")
			rest(time.Minute)
			require.Equal(t, []string{"one", "two"}, r.took(), "%g", ttl)
		})
	}
}

func TestLoginIsNotAnswered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.RequireLogin("cordon", password, 18000)
		w.server.Hang("login")
		c := w.client(w.guarded())
		r := w.read(c.Source("rules.yaml"))
		rest(time.Minute)
		require.Equal(t, []string{"error: read: login as cordon at http://a:8848/nacos/v1/auth/users/login: no answer within 3s"}, r.took())
		rest(loginPause)
		got := make(chan error)
		go func() {
			_, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
			got <- err
		}()
		rest(time.Second)
		require.NoError(t, c.Close())
		require.Error(t, <-got, "nothing is waited for")
	})
}

// The login of one server is that of another of its cluster.
func TestLoginAtAnotherServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for range 4 {
			other := w.start("b")
			w.server.RequireLogin("cordon", password, 18000)
			other.RequireLogin("cordon", password, 18000)
			for _, s := range []*fakenacos.Server{w.server, other} {
				s.Set(rules, "one")
			}
			w.server.AnswerLogins(500, "down")
			other.AnswerLogins(500, "down")
			c := w.guarded()
			c.Servers = []string{"a", "b"}
			client := w.client(c)
			_, err := client.Get(t.Context(), DefaultGroup, "rules.yaml")
			require.ErrorContains(t, err, "login as cordon at http://a:8848/nacos/v1/auth/users/login: 500 Internal Server Error: down")
			require.ErrorContains(t, err, "login as cordon at http://b:8848/nacos/v1/auth/users/login: 500 Internal Server Error: down")
			other.AnswerLogins(0, "")
			w.server.Allow("token-1")
			rest(loginPause)
			content, err := client.Get(t.Context(), DefaultGroup, "rules.yaml")
			require.NoError(t, err)
			require.Equal(t, "one", string(content.Data))
			require.NoError(t, client.Close())
			other.Stop()
		}
	})
}

func TestAccessToken(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.RequireLogin("cordon", password, 18000)
		w.server.Allow("mine")
		w.server.Set(rules, "one")
		c := w.config()
		c.AccessToken = "mine"
		r := w.read(w.client(c).Source("rules.yaml"))
		rest(time.Second)
		require.Equal(t, []string{"one"}, r.took())
		w.server.ExpireTokens()
		w.server.Set(rules, "two")
		rest(time.Minute)
		said := r.took()
		require.Equal(t, "error: read: a:8848: refused, code 403: token expired!", said[0])
		w.server.Allow("mine")
		rest(time.Minute)
		require.Equal(t, []string{"two"}, r.took())
		require.Zero(t, w.server.Count("login"))
	})
}

func TestForbidden(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		c := w.client(w.config())
		r := w.read(c.Source("rules.yaml"))
		rest(time.Second)
		w.server.Forbid.Store(true)
		w.server.Set(rules, "two")
		rest(0)
		require.Equal(t, []string{"one", "error: read: a:8848: refused, code 403: authorization failed!"}, r.took(), "the document in force stays")
		require.ErrorIs(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("three")), ErrForbidden)
		require.ErrorIs(t, c.Delete(t.Context(), DefaultGroup, "rules.yaml"), ErrForbidden)
		rest(20 * time.Second)
		w.server.Forbid.Store(false)
		rest(maxRetry * 6 / 5)
		require.Equal(t, []string{"two"}, r.took())
		require.Equal(t, "two", w.server.Document(rules))
	})
}

// A user who may read but gets no notices: it is told, and the document read at the steady pace.
func TestNoticesAreForbidden(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		w.server.ForbidListen.Store(true)
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(time.Minute)
		deaf := "error: no notices of changes, looking every 30s: a:8848: refused, code 403: authorization failed!"
		require.Equal(t, []string{"one", deaf}, r.took())
		w.server.Set(rules, "two")
		rest(defaultReread*6/5 + confirmAfter)
		require.Equal(t, []string{"two", deaf}, r.took())
		reads := w.server.Count("ConfigQueryRequest")
		rest(5 * time.Minute)
		require.Less(t, w.server.Count("ConfigQueryRequest")-reads, 15)
		w.server.ForbidListen.Store(false)
		rest(maxRetry * 6 / 5)
		require.Equal(t, []string{"two"}, r.took())
		w.server.Set(rules, "three")
		rest(0)
		require.Equal(t, []string{"three"}, r.took())
	})
}

func FuzzLogin(f *testing.F) {
	f.Add(200, `{"accessToken":"x","tokenTtl":18000}`)
	f.Add(200, `{"accessToken":"x","tokenTtl":-1e999}`)
	f.Add(403, "no")
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 || status == http.StatusNoContent || status == http.StatusNotModified {
			t.Skip("what the fake cannot say")
		}
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, log: &lines{}}
			w.server = w.start("a")
			w.server.RequireLogin("cordon", password, 18000)
			w.server.AnswerLogins(status, body)
			c := w.client(w.guarded())
			_, err := c.Get(t.Context(), DefaultGroup, "rules.yaml")
			require.Error(t, err, "no token is good, or there is no document")
			var answer struct {
				AccessToken string
				TokenTTL    float64
			}
			if status == 200 && json.Unmarshal([]byte(body), &answer) == nil && answer.AccessToken == "" {
				require.ErrorContains(t, err, "accessToken")
			}
		})
	})
}
