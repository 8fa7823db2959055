// The tests of this folder follow documents on a real Nacos server, started by scripts/nacos, through everything that happens to a server. To run them alone, and see
// the figures:
//
//	go test -count=1 -v ./datasource/nacos/servertest
package servertest

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon/scripts/nacosserver"
)

// shared is the server that all tests of this folder use, one after the other: each has documents of its own.
type shared struct {
	once   sync.Once
	folder string
	server *nacosserver.Server
	err    error
}

var server shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := errors.Join(server.end(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// realServer returns the server, which is started when the first test asks for it.
func realServer(t *testing.T) *nacosserver.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("a real server takes a while to start")
	}
	if why := nacosserver.WhySkip(); why != "" {
		t.Skip(why)
	}
	server.once.Do(server.start)
	require.NoError(t, server.err)
	return server.server
}

func (s *shared) start() {
	if s.folder, s.err = os.MkdirTemp("", "cordon-nacos-"); s.err == nil {
		s.server, s.err = nacosserver.Start(s.folder)
	}
}

func (s *shared) end() error {
	if s.server == nil {
		return nil
	}
	return errors.Join(s.server.Stop(), os.RemoveAll(s.folder))
}
