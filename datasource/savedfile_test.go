package datasource

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func savedOf(content string) *savedDocument {
	return &savedDocument{
		version: "v-" + content, at: time.Unix(1_700_000_000, 123456789).UTC(), data: []byte(content), sum: sha256.Sum256([]byte(content)),
	}
}

func lastGoodIn(t *testing.T, dir string) savedFile {
	t.Helper()
	return newSavedFile(filepath.Join(dir, "last-good"), "nacos:public/G/D")
}

// What is written is read back exactly, whatever the names and the content are, and the file can be read by its owner alone.
func TestSavedIsReadBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := newSavedFile(filepath.Join(dir, "last-good"), string(rapid.SliceOf(rapid.Byte()).Draw(t, "source")))
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		want := &savedDocument{
			version: string(rapid.SliceOf(rapid.Byte()).Draw(t, "version")),
			at:      time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC(),
			data:    append([]byte{}, data...),
			sum:     sha256.Sum256(data),
		}
		require.NoError(t, s.write(want))
		got, err := s.read()
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left beside it")
	if info, err := entries[0].Info(); runtime.GOOS != "windows" {
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode())
	}
}

// What this version has written every later one has to read.
func TestSavedFormatStaysReadable(t *testing.T) {
	const file = `cordon-last-good 1 source="nacos:public/G/D" version="7\n\u00fc" saved=2026-01-02T15:04:05.000000006Z holds=document length=10 ` +
		`sha256=f106c2805b60ffda19e2683d260538a98201b0d9a3678f53f8862fa478466420 line=5c3b5c8f` + "\ncordon: 1\n"
	got, err := decodeSaved(strings.NewReader(file), int64(len(file)), "nacos:public/G/D")
	require.NoError(t, err)
	require.Equal(t, "7\nü", got.version)
	require.Equal(t, time.Date(2026, 1, 2, 15, 4, 5, 6, time.UTC), got.at)
	require.Equal(t, "cordon: 1\n", string(got.data))
	require.False(t, got.inForce)
}

// A file that is damaged anywhere, or is not ours, is refused in words that say why.
func TestSavedRefusesWhatIsDamaged(t *testing.T) {
	s := lastGoodIn(t, t.TempDir())
	d := savedOf("cordon: 1\n")
	good := s.head(d) + string(d.data)
	read := func(text string) error {
		_, err := decodeSaved(strings.NewReader(text), int64(len(text)), s.source)
		return err
	}
	require.NoError(t, read(good))
	for n := range len(good) {
		require.Error(t, read(good[:n]), "cut off after %d bytes", n)
		for _, bit := range []byte{1, 0x20, 0x80} {
			flipped := []byte(good)
			flipped[n] ^= bit
			require.Error(t, read(string(flipped)), "bit %x of byte %d", bit, n)
		}
		require.Error(t, read(good[:n]+strings.Repeat("\x00", len(good)-n)), "zeros from byte %d on, as after a loss of power", n)
	}
	other := savedFile{source: "file:other"}
	for text, want := range map[string]string{
		"":                              "is no last-good file",
		"cordon: 1\n":                   "is no last-good file",
		good + "x":                      "is damaged: it holds 11 bytes of a document of 10",
		good[:len(good)-1]:              "is damaged: it holds 9 bytes of a document of 10",
		good[:40]:                       "its first line is not as it was written",
		good[:len(good)-1] + "":         "is damaged",
		other.head(d) + "cordon: 1\n":   "holds the document of another source, file:other: every source needs a file of its own",
		"cordon-last-good 2 whatever\n": "has format 2, of a later version of this program, which knows up to 1",
		"cordon-last-good 99":           "has format 99",
		"cordon-last-good 0 x\n":        "its first line is not as it was written",
		"cordon-last-good -1 x\n":       "its first line is not as it was written",
	} {
		require.ErrorContains(t, read(text), want, "%q", text)
	}
}

// The first line vouches for itself, but what it says is checked all the same: another program's line may have a right check.
func TestSavedHeadFields(t *testing.T) {
	s := lastGoodIn(t, t.TempDir())
	good := strings.TrimSuffix(s.head(savedOf("x")), "\n")
	good, _, _ = strings.Cut(good, " line=")
	for _, edit := range [][3]string{
		{"source=\"", "source=", "source"}, {"source=", "sauce=", "source"}, {"version=\"", "version='", "version"}, {"\" version", "\"version", "source"},
		{"saved=20", "saved=x", "saved"}, {"holds=d", "holds=D", "holds"}, {"length=1", "length=-1", "length"}, {"length=1", "length=99999999999999999999", "length"},
		{"sha256=", "sha256=zz", "sha256"}, {"sha256=", "md5=", "sha256"}, {good[len(good)-2:], "", "sha256"},
	} {
		at := strings.LastIndex(good, edit[0])
		bad := good[:at] + edit[1] + good[at+len(edit[0]):]
		_, err := parseSavedHead(bad+" line="+checkLine(bad), true)
		require.ErrorContains(t, err, "is damaged: "+edit[2], "%s", bad)
	}
	big := strings.Replace(good, "length=1 ", fmt.Sprintf("length=%d ", int64(maxSaved)+1), 1)
	big += " line=" + checkLine(big) + "\n"
	_, err := decodeSaved(strings.NewReader(big), int64(len(big)), s.source)
	require.ErrorContains(t, err, "more than")
}

// A foreign file, however large, is not read into memory.
func TestSavedReadIsBounded(t *testing.T) {
	s := lastGoodIn(t, t.TempDir())
	f, err := os.Create(s.path)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(1<<30))
	require.NoError(t, f.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = s.read()
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "is no last-good file")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	require.NoError(t, os.Remove(s.path))
	require.NoError(t, os.Mkdir(s.path, 0o700))
	_, err = s.read()
	require.ErrorContains(t, err, "is no file")
}

// died is what a crash is here: the writing ends where it is, and nothing more of it is done.
var errDied = errors.New("died")

// crashing is the disk of a process that dies at the n-th step of a write.
type crashing struct {
	disk
	left int
}

func (c *crashing) step() {
	if c.left--; c.left < 0 {
		panic(errDied)
	}
}

func (c *crashing) over() disk {
	return disk{
		create: func(dir, pattern string) (tempFile, error) {
			c.step()
			f, err := c.disk.create(dir, pattern)
			return &crashingFile{tempFile: f, c: c}, err
		},
		rename: func(from, to string) error {
			c.step()
			err := c.disk.rename(from, to)
			c.step()
			return err
		},
		syncFolder: func(dir string) error {
			c.step()
			return c.disk.syncFolder(dir)
		},
		open: c.disk.open,
	}
}

type crashingFile struct {
	tempFile
	c *crashing
}

func (f *crashingFile) Write(data []byte) (n int, err error) {
	for _, part := range [][]byte{data[:len(data)/2], data[len(data)/2:]} {
		f.c.step()
		m, err := f.tempFile.Write(part)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (f *crashingFile) Sync() error {
	f.c.step()
	return f.tempFile.Sync()
}

func (f *crashingFile) Close() error {
	if f.c.left >= 0 { // a process that has died closes nothing more
		f.c.step()
	}
	return f.tempFile.Close()
}

// A process that dies at any step of writing leaves the old document or the new one, the next process goes on from there, and
// what was left behind is removed once it is old.
func TestSavedOutlivesACrashAtEveryStep(t *testing.T) {
	dir := t.TempDir()
	s := lastGoodIn(t, dir)
	require.NoError(t, s.write(savedOf("old")))
	news, steps, leftovers := 0, 0, 0
	for ; ; steps++ {
		c := &crashing{disk: s.disk, left: steps}
		dying := s
		dying.disk = c.over()
		err := guard("write", func() error { return dying.write(savedOf("new")) })
		got, readErr := s.read()
		require.NoError(t, readErr, "died at step %d", steps)
		if string(got.data) == "new" {
			news++
		} else {
			require.Equal(t, savedOf("old"), got)
		}
		if err == nil {
			break
		}
		require.ErrorIs(t, err, errDied)
		entries, dirErr := os.ReadDir(dir)
		require.NoError(t, dirErr)
		leftovers = max(leftovers, len(entries)-1)
		require.NoError(t, s.write(savedOf("old")))
	}
	require.Equal(t, 10, steps, "create, four parts, sync, close, before and after the rename, sync of the folder")
	require.Equal(t, 3, news, "after the rename it is there")
	require.Positive(t, leftovers)

	living, err := s.disk.create(dir, s.tempPrefix()+"*"+tempSuffix)
	require.NoError(t, err)
	require.NoError(t, living.Close())
	foreign := filepath.Join(dir, ".last-good.mine.tmp")
	require.NoError(t, os.WriteFile(foreign, nil, 0o600))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	now := time.Now()
	for _, e := range entries {
		if name := filepath.Join(dir, e.Name()); name != living.Name() {
			require.NoError(t, os.Chtimes(name, now.Add(-2*staleTemp), now.Add(-2*staleTemp)))
		}
	}
	s.sweep(now)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{s.path, living.Name(), foreign}, left)
}

// A write that fails removes what it has begun, and leaves what was there.
func TestSavedFailsCleanly(t *testing.T) {
	dir := t.TempDir()
	s := lastGoodIn(t, dir)
	require.NoError(t, s.write(savedOf("old")))
	full := s
	full.disk.create = func(dir, pattern string) (tempFile, error) {
		f, err := s.disk.create(dir, pattern)
		return fullFile{f}, err
	}
	require.ErrorIs(t, full.write(savedOf("new")), errFull)
	stuck := s
	stuck.disk.rename = func(string, string) error { return errFull }
	require.ErrorIs(t, stuck.write(savedOf("new")), errFull)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	got, err := s.read()
	require.NoError(t, err)
	require.Equal(t, savedOf("old"), got)

	long := s
	long.source = strings.Repeat("x", maxSavedHead)
	require.ErrorContains(t, long.write(savedOf("new")), "too large")
}

var errFull = errors.New("disk is full")

type fullFile struct{ tempFile }

func (f fullFile) Write(data []byte) (int, error) { return 0, errFull }

// No content makes the reader panic, hang or take much memory, and what it accepts is what was written.
func FuzzSavedFile(f *testing.F) {
	s := savedFile{source: "s"}
	for _, content := range []string{"", "x", "cordon: 1\n"} {
		d := savedOf(content)
		f.Add([]byte(s.head(d) + content))
		d.inForce = true
		f.Add([]byte(s.head(d) + content))
	}
	f.Add([]byte("cordon-last-good 2 x\n"))
	f.Add([]byte(`cordon-last-good 1 source="s" version="" saved=2026-01-02T15:04:05Z length=0 sha256= line=00000000` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := decodeSaved(bytes.NewReader(text), int64(len(text)), "s")
		if err != nil {
			require.Nil(t, got)
			return
		}
		require.Equal(t, sha256.Sum256(got.data), got.sum)
		again, err := decodeSaved(strings.NewReader(s.head(got)+string(got.data)), int64(len(s.head(got))+len(got.data)), "s")
		require.NoError(t, err)
		require.True(t, got.at.Equal(again.at))
		again.at = got.at
		require.Equal(t, got, again)
	})
}

// What fails at every attempt in the same way says so in the same words, so that it is told once: no name of a temporary file is in them.
func TestWriteFailsInTheSameWords(t *testing.T) {
	for what, broken := range map[string]func(*disk){
		"create": func(d *disk) {
			d.create = func(string, string) (tempFile, error) { return os.CreateTemp(filepath.Join(os.DevNull, "none"), "*") }
		},
		"write": func(d *disk) {
			create := d.create
			d.create = func(dir, pattern string) (tempFile, error) {
				f, err := create(dir, pattern)
				if err == nil {
					require.NoError(t, f.Close()) // so that nothing more can be written
				}
				return f, err
			}
		},
		"rename": func(d *disk) {
			rename := d.rename
			d.rename = func(from, to string) error { return rename(from, filepath.Join(to, "none")) }
		},
	} {
		s := lastGoodIn(t, t.TempDir())
		require.NoError(t, s.write(savedOf("old")))
		broken(&s.disk)
		first, second := s.write(savedOf("new")), s.write(savedOf("new"))
		require.Error(t, first, what)
		require.EqualError(t, second, first.Error(), what)
		require.NotContains(t, first.Error(), tempSuffix, what)
		saved, err := s.read()
		require.NoError(t, err, what)
		require.Equal(t, "old", string(saved.data), what)
	}
}
