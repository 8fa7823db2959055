package datasource

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A last-good file is one line of text and then the document as the source delivered it, or what was in force with that (PumpOptions.InForce):
//
//	cordon-last-good 1 source="file:rules.yaml" version="7" saved=2026-01-02T15:04:05.000000006Z holds=document length=42 sha256=… line=…
//
// holds is document or inForce, sha256 is of the document, line is the CRC-32 of what stands before it in the line. A later format keeps the first two words' form.
const (
	savedMagic  = "cordon-last-good "
	savedFormat = 1
	// holdsDocument and holdsInForce say what follows the line.
	holdsDocument = "document"
	holdsInForce  = "inForce"
	// maxSavedHead and maxSaved bound the line and the document, so that a foreign file is not read into memory.
	maxSavedHead = 64 << 10
	maxSaved     = 256 << 20
	// staleTemp is how old a temporary file must be to be one that a process left behind when it died.
	staleTemp = time.Hour
)

// A savedDocument is the content of a last-good file.
type savedDocument struct {
	version string
	at      time.Time
	data    []byte
	sum     [sha256.Size]byte
	// inForce says that data is not the source's document.
	inForce bool
}

// A savedFile is a last-good file on disk. Any number of processes may use one path: each writes a file of its own and renames it, so that readers
// see one whole document or another.
type savedFile struct {
	path, source string
	// disk is the system's, or a test's.
	disk disk
}

// disk is what a savedFile needs of the system.
type disk struct {
	open       func(name string) (fs.File, error)
	create     func(dir, pattern string) (tempFile, error)
	rename     func(from, to string) error
	syncFolder func(dir string) error
}

// tempFile is a file that is being written.
type tempFile interface {
	io.WriteCloser
	Name() string
	Sync() error
}

// newSavedFile returns a file at a path that is taken from the folder that is current now.
func newSavedFile(path, source string) savedFile {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	return savedFile{path: path, source: source, disk: disk{
		open:       func(name string) (fs.File, error) { return os.Open(name) },
		create:     func(dir, pattern string) (tempFile, error) { return os.CreateTemp(dir, pattern) },
		rename:     os.Rename,
		syncFolder: syncFolder,
	}}
}

// read reads the file. The error wraps fs.ErrNotExist if there is none.
func (s savedFile) read() (*savedDocument, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return nil, fmt.Errorf("is no file but %s", info.Mode().Type())
	}
	f, err := s.disk.open(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	return decodeSaved(f, info.Size(), s.source)
}

// decodeSaved reads a last-good file of so many bytes. It takes no memory for what the first line does not vouch for.
func decodeSaved(r io.Reader, size int64, source string) (*savedDocument, error) {
	head := make([]byte, min(size, maxSavedHead))
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	line, rest, whole := bytes.Cut(head, []byte("\n"))
	h, err := parseSavedHead(string(line), whole)
	switch {
	case err != nil:
		return nil, err
	case h.source != source:
		return nil, fmt.Errorf("holds the document of another source, %s: every source needs a file of its own", h.source)
	case h.length > maxSaved:
		return nil, fmt.Errorf("holds a document of %d bytes, more than %d", h.length, maxSaved)
	case h.length != size-int64(len(line))-1:
		return nil, fmt.Errorf("is damaged: it holds %d bytes of a document of %d", size-int64(len(line))-1, h.length)
	}
	data := make([]byte, h.length)
	if _, err := io.ReadFull(r, data[copy(data, rest):]); err != nil {
		return nil, err
	}
	if sha256.Sum256(data) != h.sum {
		return nil, errors.New("is damaged: the document's SHA-256 is not the one in the first line")
	}
	return &savedDocument{version: h.version, at: h.at, data: data, sum: h.sum, inForce: h.inForce}, nil
}

// savedHead is the first line.
type savedHead struct {
	source, version string
	at              time.Time
	inForce         bool
	length          int64
	sum             [sha256.Size]byte
}

// parseSavedHead reads the first line. whole is false if the line has no end.
func parseSavedHead(line string, whole bool) (h savedHead, err error) {
	rest, ours := strings.CutPrefix(line, savedMagic)
	if !ours {
		return h, fmt.Errorf("is no last-good file: it does not begin with %q", savedMagic)
	}
	format, rest, _ := strings.Cut(rest, " ")
	if n, err := strconv.Atoi(format); err == nil && n > savedFormat {
		return h, fmt.Errorf("has format %d, of a later version of this program, which knows up to %d", n, savedFormat)
	}
	at := strings.LastIndex(line, " line=")
	if !whole || at < 0 || format != strconv.Itoa(savedFormat) || line[at+len(" line="):] != checkLine(line[:at]) {
		return h, errors.New("is damaged: its first line is not as it was written")
	}
	fail := func(field string) (savedHead, error) { return h, fmt.Errorf("is damaged: %s in its first line", field) }
	var ok bool
	if h.source, rest, ok = quotedField(rest, "source="); !ok {
		return fail("source")
	}
	if h.version, rest, ok = quotedField(rest, "version="); !ok {
		return fail("version")
	}
	saved, rest, _ := strings.Cut(rest, " ")
	if h.at, err = time.Parse("saved="+time.RFC3339Nano, saved); err != nil {
		return fail("saved")
	}
	holds, rest, _ := strings.Cut(rest, " ")
	if h.inForce = holds == "holds="+holdsInForce; !h.inForce && holds != "holds="+holdsDocument {
		return fail("holds")
	}
	length, rest, _ := strings.Cut(rest, " ")
	digits, _ := strings.CutPrefix(length, "length=")
	if h.length, err = strconv.ParseInt(digits, 10, 64); err != nil || h.length < 0 {
		return fail("length")
	}
	sum, _, _ := strings.Cut(rest, " ")
	digits, _ = strings.CutPrefix(sum, "sha256=")
	if n, err := hex.Decode(h.sum[:], []byte(digits[:min(len(digits), 2*sha256.Size)])); err != nil || n != sha256.Size {
		return fail("sha256")
	}
	return h, nil
}

// quotedField cuts a quoted field off the front.
func quotedField(text, key string) (value, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, key)
	if !ok {
		return "", "", false
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", false
	}
	if value, err = strconv.Unquote(quoted); err != nil {
		return "", "", false
	}
	rest, ok = strings.CutPrefix(text[len(quoted):], " ")
	return value, rest, ok
}

// checkLine returns the check of what stands before it in the first line.
func checkLine(before string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(before))) }

// head returns the first line for a document of this source.
func (s savedFile) head(d *savedDocument) string {
	holds := holdsDocument
	if d.inForce {
		holds = holdsInForce
	}
	line := fmt.Sprintf("%s%d source=%s version=%s saved=%s holds=%s length=%d sha256=%x", savedMagic, savedFormat,
		strconv.QuoteToASCII(s.source), strconv.QuoteToASCII(d.version), d.at.UTC().Format(time.RFC3339Nano), holds, len(d.data), d.sum)
	return line + " line=" + checkLine(line) + "\n"
}

// write puts the document into the file: after a crash at any moment the file holds this document or what it held before. What a
// writer that dies leaves behind is removed by sweep.
func (s savedFile) write(d *savedDocument) error {
	head := s.head(d)
	if len(head) > maxSavedHead || len(d.data) > maxSaved {
		return fmt.Errorf("would be too large: a line of %d bytes (at most %d) and a document of %d (at most %d)", len(head), maxSavedHead, len(d.data), maxSaved)
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := s.disk.create(dir, s.tempPrefix()+"*"+tempSuffix)
	if err != nil {
		return nameless(err)
	}
	if err := fill(f, head, d.data); err != nil {
		os.Remove(f.Name())
		return nameless(err)
	}
	if err := s.disk.rename(f.Name(), s.path); err != nil {
		os.Remove(f.Name())
		return nameless(err)
	}
	return s.disk.syncFolder(dir)
}

// nameless takes the temporary file's name out of an error: it is another one at every attempt, while a disk that is full for hours is one failure, told once.
func nameless(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", link.Op, link.Err)
	}
	return err
}

// fill writes, syncs and closes the file.
func fill(f tempFile, head string, data []byte) error {
	_, err := io.WriteString(f, head)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

const tempSuffix = ".tmp"

// tempPrefix is how the names of the temporary files beside the file begin.
func (s savedFile) tempPrefix() string { return "." + filepath.Base(s.path) + "." }

// sweep removes the temporary files that processes left behind when they died. Those of living ones are young.
func (s savedFile) sweep(now time.Time) {
	dir := filepath.Dir(s.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		middle, ok := strings.CutPrefix(e.Name(), s.tempPrefix())
		middle, suffixed := strings.CutSuffix(middle, tempSuffix)
		if _, err := strconv.ParseUint(middle, 10, 64); !ok || !suffixed || err != nil {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > staleTemp {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
