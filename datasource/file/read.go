package file

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/cordon-go/cordon/datasource"
)

var errTorn = errors.New("file changes every time it is read")

// A content is what a look at the file brought.
type content struct {
	known   bool   // false only before the first look
	data    []byte // not kept once it was delivered
	size    int
	sum     [sha256.Size]byte
	modTime time.Time
	// err says why there is no data; torn that the file changed meanwhile.
	err  error
	torn bool
	// noticesErr is what was amiss with the notices when this was delivered.
	noticesErr error
}

// good reports whether the content is a document with something in it.
func (c content) good() bool { return c.known && c.err == nil && !c.empty() }

// empty reports whether the file was read and there was nothing in it.
func (c content) empty() bool {
	return c.known && c.err == nil && c.modTime != (time.Time{}) && c.sum == sha256.Sum256(nil)
}

// same reports whether delivering c after d would say nothing new.
func (c content) same(d content) bool {
	return c.known == d.known && c.sum == d.sum && text(c.err) == text(d.err) && text(c.noticesErr) == text(d.noticesErr)
}

// text returns an error's text, "" for nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// update returns the content as it is delivered.
func (c content) update() datasource.Update {
	if c.err != nil {
		return datasource.Update{Err: c.err}
	}
	return datasource.Update{Document: datasource.Document{
		Data:    c.data,
		Version: fmt.Sprintf("%s-%x", c.modTime.UTC().Format("2006-01-02T15:04:05.000Z"), c.sum[:6]),
	}}
}

// read reads the file.
func (s *source) read() content {
	data, info, err := s.readFile()
	switch {
	case errors.Is(err, errTorn):
		return content{known: true, err: fmt.Errorf("%s: %w", s.full, err), torn: true}
	case errors.Is(err, fs.ErrNotExist):
		return content{known: true, err: fmt.Errorf("%w: %w", datasource.ErrAbsent, err)}
	case err != nil:
		return content{known: true, err: err}
	}
	return content{known: true, data: data, size: len(data), sum: sha256.Sum256(data), modTime: info.ModTime()}
}

// readFile reads the whole file, or errTorn if it was not the same file in the same state from beginning to end.
func (s *source) readFile() ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(s.full)
	if err != nil {
		return nil, nil, err
	}
	if err := s.checkKind(info); err != nil { // before opening: that of a pipe waits for a writer
		return nil, nil, err
	}
	f, err := s.open(s.full)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if err := s.checkSize(before.Size()); err != nil {
		return nil, nil, err
	}
	var buf bytes.Buffer
	buf.Grow(int(min(before.Size(), defaultMaxBytes)) + bytes.MinRead)
	n, err := buf.ReadFrom(io.LimitReader(f, s.readLimit(before.Size())))
	if err != nil {
		return nil, nil, err
	}
	if err := s.checkSize(n); err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	now, err := os.Stat(s.full)
	if err != nil || !os.SameFile(now, after) || !unchanged(before, after, n) {
		return nil, nil, errTorn
	}
	return buf.Bytes(), after, nil
}

// checkKind refuses what is no file.
func (s *source) checkKind(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s: is a folder, want a file", s.full)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: is no regular file (%v)", s.full, info.Mode().Type())
	}
	return nil
}

// checkSize refuses what is too large.
func (s *source) checkSize(n int64) error {
	if n <= s.opts.MaxBytes {
		return nil
	}
	return fmt.Errorf("%s: %w: more than %d bytes", s.full, ErrTooLarge, s.opts.MaxBytes)
}

// readLimit returns how much to read of a file of that size: enough to see that it is larger than it was, or, if it does not tell
// its size, than allowed.
func (s *source) readLimit(size int64) int64 {
	if size > 0 {
		return size + 1
	}
	return max(s.opts.MaxBytes, s.opts.MaxBytes+1) // the first if there is no larger number
}

// unchanged reports whether a file of which n bytes were read was the same before and after. Files that the system makes up
// while they are read say that their size is 0.
func unchanged(before, after fs.FileInfo, n int64) bool {
	return before.Size() == after.Size() && before.ModTime().Equal(after.ModTime()) && (after.Size() == n || after.Size() == 0)
}

// A state is how a file looks from outside.
type state struct {
	info fs.FileInfo
	err  string
}

// stateOf returns the state of the file that path leads to.
func stateOf(path string) state {
	info, err := os.Stat(path)
	return state{info: info, err: text(err)}
}

// same reports whether nothing tells the two states apart.
func (s state) same(t state) bool {
	if s.info == nil || t.info == nil {
		return s.info == nil && t.info == nil && s.err == t.err
	}
	return s.info.Size() == t.info.Size() && s.info.ModTime().Equal(t.info.ModTime()) && s.info.Mode() == t.info.Mode() &&
		os.SameFile(s.info, t.info)
}
