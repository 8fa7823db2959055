package file

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon/datasource"
)

// The tests here wait for the file system's notices rather than compute, so many can run side by side even on few cores.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// rounds is how often a way of replacing is tried.
func rounds() int {
	if testing.Short() {
		return 4
	}
	return 25
}

// patience is how long a test waits for what must come. Nothing is asserted about how long it takes.
const patience = 30 * time.Second

var errInvalid = errors.New("not a whole document")

// document returns a document whose wholeness can be checked.
func document(n int) string {
	return fmt.Sprintf("begin %d\n%send %d\n", n, strings.Repeat("line\n", 40+n%7), n)
}

// check accepts whole documents only, as a strict decoder would.
func check(data []byte) error {
	var n int
	if _, err := fmt.Sscanf(string(data), "begin %d\n", &n); err != nil || string(data) != document(n) {
		return fmt.Errorf("%w: %.20q", errInvalid, data)
	}
	return nil
}

// a site is a source in use: what is in force, and what was refused on the way.
type site struct {
	t    testing.TB
	pump *datasource.Pump

	mu      sync.Mutex // guards all below
	inForce string
	refused []error
	news    chan struct{} // closed and made anew when inForce changes
}

// watching puts s in use until the test ends.
func watching(t testing.TB, s *source) *site {
	v := &site{t: t, news: make(chan struct{})}
	v.pump = datasource.Start(t.Context(), s, v.apply, datasource.PumpOptions{Debounce: 10 * time.Millisecond})
	t.Cleanup(func() { require.NoError(t, v.pump.Close()) })
	return v
}

func (v *site) apply(d datasource.Document) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := check(d.Data); err != nil {
		v.refused = append(v.refused, err)
		return err
	}
	v.inForce = string(d.Data)
	close(v.news)
	v.news = make(chan struct{})
	return nil
}

// awaits waits until the document is in force.
func (v *site) awaits(n int) {
	v.t.Helper()
	late := time.After(patience)
	for {
		v.mu.Lock()
		inForce, news, refused := v.inForce, v.news, v.refused
		v.mu.Unlock()
		if inForce == document(n) {
			return
		}
		select {
		case <-news:
		case <-late:
			v.t.Fatalf("document %d never came; in force: %.12q, refused: %v, health: %+v", n, inForce, refused, v.pump.Health())
		}
	}
}

// awaitsError waits until the source's health shows an error that is want.
func (v *site) awaitsError(want error, text string) {
	v.t.Helper()
	eventually(v.t, func() bool {
		err := v.pump.Health().LastError
		return errors.Is(err, want) && (err == nil || strings.Contains(err.Error(), text))
	}, func() string { return fmt.Sprintf("want %v (%s), health: %+v", want, text, v.pump.Health()) })
}

// eventually waits until ok says so.
func eventually(t testing.TB, ok func() bool, message func() string) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatal(message())
		}
	}
}

// busy keeps other files in the folder changing until the test ends.
func busy(t *testing.T, folder string) {
	stop := make(chan struct{})
	var workers sync.WaitGroup
	workers.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			name := filepath.Join(folder, fmt.Sprintf("noise-%d", n%5))
			_ = os.WriteFile(name, []byte("noise"), 0o600)
			_ = os.Remove(name)
			time.Sleep(2 * time.Millisecond)
		}
	})
	t.Cleanup(func() {
		close(stop)
		workers.Wait()
	})
}

func write(t testing.TB, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func mkdir(t testing.TB, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(path, 0o700))
	return path
}

func move(t testing.TB, from, to string) {
	t.Helper()
	require.NoError(t, os.Rename(from, to))
}

func remove(t testing.TB, path string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(path))
}

func link(t testing.TB, target, name string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, name))
}

// relink retargets a symlink in one step.
func relink(t testing.TB, target, name string) {
	t.Helper()
	link(t, target, name+".tmp")
	move(t, name+".tmp", name)
}
