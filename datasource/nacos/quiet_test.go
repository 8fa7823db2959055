package nacos

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos/internal/fakenacos"
)

// quietHelper is set in the process that TestQuiet looks at.
const quietHelper = "CORDON_TEST_NACOS_QUIET"

// faults #78: nothing is written to the terminal or to any file, be the server there, gone, wrong or silent.
func TestQuiet(t *testing.T) {
	if os.Getenv(quietHelper) != "" {
		beBusy(t)
		return
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	self, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, self, 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-test.run=^TestQuiet$", "-test.count=1")
	cmd.Dir = dir
	cmd.Env = []string{quietHelper + "=1", "HOME=" + dir, "TMPDIR=" + dir}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "PASS\n", string(out))
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir {
			files = append(files, d.Name())
		}
		return err
	}))
	require.Equal(t, []string{"program"}, files)
}

// beBusy uses clients in every way, on sockets.
func beBusy(t *testing.T) {
	s := fakenacos.New(fakenacos.Sockets, nil)
	require.NoError(t, s.Start("127.0.0.1:0", "127.0.0.1:0"))
	defer s.Stop()
	s.RequireLogin("cordon", password, 18000)
	s.Set(rules, "one")
	c, err := New(Config{Servers: []string{s.Address()}, Username: "cordon", Password: password, Timeout: 200 * time.Millisecond})
	require.NoError(t, err)
	said := make(chan string, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Source("rules.yaml").Watch(t.Context(), func(u datasource.Update) { said <- fmt.Sprint(string(u.Document.Data), u.Err) })
	}()
	await := func(want string) {
		for got := range said {
			if got == want {
				return
			}
		}
	}
	await("one<nil>")
	require.NoError(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("two")))
	await("two<nil>")
	s.Hang("ConfigQueryRequest")
	_, err = c.Get(t.Context(), DefaultGroup, "rules.yaml")
	require.Error(t, err)
	s.Stop()
	_, err = c.Get(t.Context(), DefaultGroup, "rules.yaml")
	require.Error(t, err)
	s.SetQuietly(rules, "three")
	require.NoError(t, s.Restart())
	await("three<nil>")
	s.Forbid.Store(true)
	require.ErrorIs(t, c.Publish(t.Context(), DefaultGroup, "rules.yaml", []byte("four")), ErrForbidden)
	require.NoError(t, c.Close())
	<-done
}
