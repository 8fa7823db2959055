package rulehistory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestVersionsAreKept(t *testing.T) {
	h := Of(t.TempDir(), "nacos://h:1/public/G/a")
	list, err := h.List()
	require.NoError(t, err)
	require.Empty(t, list)
	_, _, err = h.Read(1)
	require.ErrorIs(t, err, ErrNoVersion)

	first, err := h.Add(Version{Time: noon, Target: "a", User: "ann"}, []byte("old\xff"))
	require.NoError(t, err)
	require.Equal(t, 1, first.Number)
	second, err := h.Add(Version{Time: noon.Add(time.Hour), Target: "a", User: "ann", Source: "rules.yaml"}, []byte("new"))
	require.NoError(t, err)
	require.Equal(t, 2, second.Number)
	require.Equal(t, 3, second.Bytes)
	list, err = h.List()
	require.NoError(t, err)
	require.Equal(t, []Version{second, first}, list)
	v, data, err := h.Read(1)
	require.NoError(t, err)
	require.Equal(t, first, v)
	require.Equal(t, "old\xff", string(data))
}

// What is found to be what was pushed last is no new version; what is pushed always is one.
func TestWhatIsFoundAgainIsNoVersion(t *testing.T) {
	h := Of(t.TempDir(), "a")
	for i, c := range []struct {
		v    Version
		data string
		want int
	}{
		{Version{}, "", 1},
		{Version{}, "", 1},
		{Version{Source: "f"}, "x", 2},
		{Version{}, "x", 2},
		{Version{Source: "f"}, "x", 3},
		{Version{}, "y", 4},
	} {
		v, err := h.Add(c.v, []byte(c.data))
		require.NoError(t, err)
		require.Equal(t, c.want, v.Number, i)
	}
}

func TestTheOldestGo(t *testing.T) {
	h := Of(t.TempDir(), "a")
	for i := range Most + 20 {
		_, err := h.Add(Version{Source: "f"}, fmt.Append(nil, i))
		require.NoError(t, err)
	}
	list, err := h.List()
	require.NoError(t, err)
	require.Len(t, list, Most)
	require.Equal(t, Most+20, list[0].Number)
	require.Equal(t, 21, list[Most-1].Number)
	entries, err := os.ReadDir(h.folder)
	require.NoError(t, err)
	require.Len(t, entries, 2*Most)
	_, _, err = h.Read(20)
	require.ErrorIs(t, err, ErrNoVersion)
}

// Two that push at once get two versions.
func TestAtOnce(t *testing.T) {
	h := Of(t.TempDir(), "a")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := h.Add(Version{Source: "f"}, fmt.Append(nil, i)); err != nil {
				panic(err)
			}
		})
	}
	all.Wait()
	list, err := h.List()
	require.NoError(t, err)
	require.Len(t, list, 20)
	seen := map[string]bool{}
	for _, v := range list {
		_, data, err := h.Read(v.Number)
		require.NoError(t, err)
		require.False(t, seen[string(data)])
		seen[string(data)] = true
	}
}

// What a crash has left unfinished is no version, and its number is not used again; what is damaged is said.
func TestUnfinishedAndDamagedVersions(t *testing.T) {
	h := Of(t.TempDir(), "a")
	_, err := h.Add(Version{Source: "f"}, []byte("x"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(h.path(2, dataEnd), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(h.folder, ".000002.json-1"), []byte("{"), 0o600))
	list, err := h.List()
	require.NoError(t, err)
	require.Len(t, list, 1)
	v, err := h.Add(Version{Source: "f"}, []byte("y"))
	require.NoError(t, err)
	require.Equal(t, 3, v.Number)

	require.NoError(t, os.WriteFile(h.path(3, dataEnd), []byte("z"), 0o600))
	_, _, err = h.Read(3)
	require.ErrorContains(t, err, "damaged")
	require.NoError(t, os.WriteFile(h.path(3, aboutEnd), []byte("{"), 0o600))
	for _, about := range []string{"{", "", "null", "{}", `{"version":1}`, `[]`, `{"version":3,"damaged":"x"}`} {
		require.NoError(t, os.WriteFile(h.path(3, aboutEnd), []byte(about), 0o600))
		list, err = h.List() // the others are there all the same
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, 3, list[0].Number)
		require.Contains(t, list[0].Damaged, "000003.json")
		_, _, err = h.Read(3)
		require.ErrorContains(t, err, "damaged")
		_, data, err := h.Read(1)
		require.NoError(t, err)
		require.Equal(t, "x", string(data))
	}
	v, err = h.Add(Version{}, []byte("z"))
	require.NoError(t, err, "what is damaged keeps nobody from pushing")
	require.Equal(t, 4, v.Number)
}

// Every document has its own folder, whatever its name.
func TestFolders(t *testing.T) {
	seen := map[string]bool{}
	for _, key := range []string{"a/b", "a_b", "a:b", "", "..", "/", strings.Repeat("x", 1000), "nacos://h:8848/public/G/shop-flow-rules", `C:\rules.yaml`} {
		h := Of("root", key)
		require.Equal(t, "root", filepath.Dir(h.folder), key)
		require.LessOrEqual(t, len(filepath.Base(h.folder)), 100)
		require.False(t, seen[h.folder])
		seen[h.folder] = true
	}
}

func TestDefault(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	folder, err := Default()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(os.Getenv("XDG_STATE_HOME"), "cordon", "rules"), folder)
	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", "/home/x")
	t.Setenv("USERPROFILE", `C:\x`)
	folder, err = Default()
	require.NoError(t, err)
	require.Contains(t, filepath.ToSlash(folder), "x/.local/state/cordon/rules")
}
