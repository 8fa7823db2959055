// Package screen writes to a terminal, or to whatever stands in for one: lines that stay, and below them a
// block of lines that is redrawn in place. On anything but a terminal the block is left out and there is no colour,
// so that output can be piped and kept.
package screen

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/term"
)

// A Screen is an output with an optional live block at its end. Its methods are safe for concurrent use.
type Screen struct {
	live  bool
	color bool
	size  func() (columns, rows int)

	// mu guards the writer and what was last drawn on it.
	mu    sync.Mutex
	w     io.Writer
	drawn int
	err   error
}

// New returns a screen over w. It is live (redraws its block in place) when w is a terminal that can do so, and coloured
// when it is live and the environment does not set NO_COLOR.
func New(w io.Writer) *Screen {
	s := &Screen{w: w, size: func() (int, int) { return 0, 0 }}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || dumb() {
		return s
	}
	s.live = true
	s.color = os.Getenv("NO_COLOR") == ""
	s.size = func() (int, int) {
		columns, rows, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 80, 24
		}
		return columns, rows
	}
	return s
}

// NewLive returns a screen that treats w as a terminal of that many columns and rows, coloured or not, whatever w is.
func NewLive(w io.Writer, columns, rows int, color bool) *Screen {
	return &Screen{w: w, live: true, color: color, size: func() (int, int) { return columns, rows }}
}

// dumb reports whether the terminal does not follow control sequences: TERM=dumb, or a Windows console, which
// follows them only where Windows Terminal hosts it.
func dumb() bool {
	if runtime.GOOS == "windows" {
		return os.Getenv("WT_SESSION") == ""
	}
	return os.Getenv("TERM") == "dumb"
}

// Live reports whether Draw shows anything.
func (s *Screen) Live() bool { return s.live }

// Rows returns how many lines the terminal shows, the one with the cursor included; 0 if that is not known, or w is no terminal.
func (s *Screen) Rows() int {
	_, rows := s.size()
	return rows
}

// columns is how wide the terminal is; 0 if it is none.
func (s *Screen) columns() int {
	columns, _ := s.size()
	return columns
}

// Printf writes lines that stay, above the block. A newline is added if the text does not end with one. On a live screen, lines
// longer than it is wide are broken between words.
func (s *Screen) Printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	text := fmt.Sprintf(format, args...)
	text = strings.TrimSuffix(text, "\n") + "\n"
	if s.live {
		text = wrap(text, s.columns())
	}
	s.write(text)
}

// Draw puts lines in the block's place. Lines longer than the terminal is wide are cut. It does nothing unless the screen is live.
func (s *Screen) Draw(lines ...string) {
	if !s.live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", s.drawn)
	}
	columns := s.columns()
	for _, line := range lines {
		b.WriteString(cut(line, columns))
		b.WriteString("\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	s.drawn = len(lines)
	s.write(b.String())
}

// Clear takes the block away.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

// Err returns the first error of the writer; once it failed, nothing more is written.
func (s *Screen) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// erase takes the block away. The caller holds s.mu.
func (s *Screen) erase() {
	if s.drawn == 0 {
		return
	}
	s.write(fmt.Sprintf("\x1b[%dA\r\x1b[J", s.drawn))
	s.drawn = 0
}

// write writes unless an earlier write failed. The caller holds s.mu.
func (s *Screen) write(text string) {
	if s.err != nil {
		return
	}
	_, s.err = io.WriteString(s.w, text)
}
