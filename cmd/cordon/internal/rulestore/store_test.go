package rulestore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	s, err := Open(Address{Path: path}, Access{})
	require.NoError(t, err)
	none, err := s.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, Content{Absent: true}, none)
	require.Empty(t, none.Sum())

	require.NoError(t, s.Write(t.Context(), []byte("first"), none))
	require.ErrorIs(t, s.Write(t.Context(), []byte("second"), none), ErrConflict)
	first, err := s.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, "first", string(first.Data))
	require.NoError(t, s.Write(t.Context(), []byte("second"), first))
	require.ErrorIs(t, s.Write(t.Context(), nil, first), ErrConflict)
	require.NoError(t, os.Remove(path))
	require.ErrorIs(t, s.Write(t.Context(), nil, first), ErrConflict)
	require.Equal(t, "file:"+path, s.Source().Name())
	require.NoError(t, s.Close())

	s = File(t.TempDir())
	_, err = s.Read(t.Context())
	require.Error(t, err)
	require.Error(t, s.Write(t.Context(), nil, none))
}

// What is replaced stays what it was: a link, or closed to others.
func TestFileKeepsLinksAndModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes are others there")
	}
	folder := t.TempDir()
	real, link := filepath.Join(folder, "real"), filepath.Join(folder, "link")
	require.NoError(t, os.WriteFile(real, []byte("a"), 0o600))
	require.NoError(t, os.Symlink("real", link))
	require.NoError(t, File(link).Write(t.Context(), []byte("b"), Content{Data: []byte("a")}))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	info, err = os.Stat(real)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// server stands in for a nacos.Client. It answers reads with what it held some writes ago, as servers do for a while.
type server struct {
	held   []string // all it has ever held
	behind int      // how many reads it will answer with the last but one
	reads  int
	fails  error
}

func (s *server) Get(context.Context, string, string) (nacos.Content, error) {
	s.reads++
	if s.fails != nil {
		return nacos.Content{}, s.fails
	}
	at := len(s.held) - 1
	if s.behind > 0 {
		s.behind--
		at--
	}
	if at < 0 {
		return nacos.Content{}, datasource.ErrAbsent
	}
	return nacos.Content{Data: []byte(s.held[at])}, nil
}

func (s *server) Publish(_ context.Context, _, _ string, data []byte, _ ...nacos.PublishOption) error {
	if s.fails != nil {
		return s.fails
	}
	s.held = append(s.held, string(data))
	return nil
}

func (s *server) Source(string, ...nacos.SourceOption) *nacos.Source { return nil }

func (s *server) Close() error { return nil }

func newStore(s *server) *nacosStore {
	return &nacosStore{client: s, clock: clock.System(), group: "G", dataID: "a"}
}

// Who reads after a write reads what was written, though the server answers with what was before for a while.
func TestNacosIsReadAsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &server{}
		s := newStore(fake)
		none, err := s.Read(t.Context())
		require.NoError(t, err)
		require.True(t, none.Absent)
		fake.behind = 3
		require.NoError(t, s.Write(t.Context(), []byte("first"), none))
		now, err := s.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, "first", string(now.Data))

		fake.behind = 1000 // a server that never catches up has the document all the same
		start := time.Now()
		require.NoError(t, s.Write(t.Context(), []byte("second"), now))
		require.Equal(t, settleWithin, time.Since(start))
	})
}

func TestNacosErrors(t *testing.T) {
	fake := &server{fails: errors.New("connection refused")}
	s := newStore(fake)
	_, err := s.Read(t.Context())
	require.ErrorIs(t, err, fake.fails)
	require.ErrorIs(t, s.Write(t.Context(), nil, Content{}), fake.fails)
	fake.fails = &nacos.ConflictError{Want: "a", Have: "b"}
	require.ErrorIs(t, s.Write(t.Context(), nil, Content{}), ErrConflict)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fake.fails, fake.behind = nil, 1000
	require.NoError(t, s.Write(ctx, []byte("x"), Content{Absent: true}), "it is written")
}

// Where the answer to a write is lost, what is there tells whether it is stored.
func TestNacosLooksAfterAFailure(t *testing.T) {
	lost := errors.New("the connection was lost")
	for name, c := range map[string]struct {
		held, says string
		down       error
	}{
		"stored":         {"new", "", nil},
		"not stored":     {"old", "lost; there is still what was there before", nil},
		"something else": {"other", "lost; there is something else", nil},
		"unknown":        {"new", "lost; whether it is stored cannot be told: no route", errors.New("no route")},
	} {
		fake := &server{held: []string{c.held}, fails: c.down}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := newStore(fake)
		s.client = lossy{fake, lost}
		err := s.Write(ctx, []byte("new"), Content{Data: []byte("old")})
		if c.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, lost, name)
		require.ErrorContains(t, err, c.says, name)
	}
}

// lossy fails to tell what became of a publish.
type lossy struct {
	*server
	err error
}

func (l lossy) Publish(context.Context, string, string, []byte, ...nacos.PublishOption) error {
	return l.err
}

func (l lossy) Get(ctx context.Context, group, dataID string) (nacos.Content, error) {
	if ctx.Err() != nil {
		return nacos.Content{}, ctx.Err()
	}
	return l.server.Get(ctx, group, dataID)
}

func TestOpenNacos(t *testing.T) {
	a, err := ParseAddress("nacos://ann@127.0.0.1:8848/ns/G/a.yaml")
	require.NoError(t, err)
	_, err = Open(a, Access{Token: "t"})
	require.ErrorContains(t, err, "CORDON_NACOS_PASSWORD")
	s, err := Open(a, Access{Password: "s3cret", Token: "t"})
	require.NoError(t, err)
	require.Equal(t, "nacos:ns/G/a.yaml", s.Source().Name())
	require.NoError(t, s.Close())
	a.User = ""
	s, err = Open(a, Access{Token: "t"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = Open(a, Access{TLS: &nacos.TLS{CA: "none.pem"}})
	require.ErrorContains(t, err, "none.pem")
	a.Servers = []string{"h:x"}
	_, err = Open(a, Access{})
	require.Error(t, err)
}
