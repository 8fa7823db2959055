package screen

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPipedOutputHasLinesOnlyAndNoControlSequence(t *testing.T) {
	var out bytes.Buffer
	s := New(&out)
	require.False(t, s.Live())
	s.Printf("one %d", 1)
	s.Draw("live", "block")
	s.Printf("%s\n", s.Paint(Red, "two"))
	s.Clear()
	require.Equal(t, "one 1\ntwo\n", out.String())
}

func TestLiveBlockStaysBelowTheLinesThatStay(t *testing.T) {
	var out bytes.Buffer
	s := NewLive(&out, 40, 25, false)
	s.Printf("first")
	s.Draw("a", "b", "c")
	s.Draw("A")
	s.Printf("second")
	s.Draw("d")
	require.Equal(t, []string{"first", "second", "d"}, render(t, out.String()))
	s.Clear()
	require.Equal(t, []string{"first", "second"}, render(t, out.String()))
}

func TestLinesAreCutToTheTerminal(t *testing.T) {
	require.Equal(t, "abc", cut("abc", 3))
	require.Equal(t, "ab…\x1b[0m", cut("abcd", 3))
	require.Equal(t, "\x1b[31mä…\x1b[0m", cut("\x1b[31mäöü\x1b[0m", 2))
	require.Equal(t, "abcd", cut("abcd", 0))
}

func TestLinesAreBrokenBetweenWords(t *testing.T) {
	require.Equal(t, "short\n", wrap("short\n", 10))
	require.Equal(t, "  one two \n    three \n    four\n", wrap("  one two three four\n", 10))
	require.Equal(t, "  \x1b[31mone two\x1b[0m \n    three\n", wrap("  \x1b[31mone two\x1b[0m three\n", 10))
	require.Equal(t, "a \n  /very/long/path/that/stays \n  whole\n", wrap("a /very/long/path/that/stays whole\n", 10))
	require.Equal(t, "one two three\n", wrap("one two three\n", 0))
}

func TestPadCountsColumns(t *testing.T) {
	s := NewLive(&bytes.Buffer{}, 80, 25, true)
	require.Equal(t, "\x1b[32m✓\x1b[0m  |", Pad(s.Paint(Green, "✓"), 3)+"|")
	require.Equal(t, "  ü", PadLeft("ü", 3))
	require.Equal(t, "long", Pad("long", 2))
}

func TestBar(t *testing.T) {
	require.Equal(t, "    ", Bar(0, 100, 4))
	require.Equal(t, "██  ", Bar(50, 100, 4))
	require.Equal(t, "██▌ ", Bar(62.5, 100, 4))
	require.Equal(t, "████", Bar(500, 100, 4))
	require.Equal(t, "    ", Bar(5, 0, 4))
}

func TestAFailedWriterIsReportedOnce(t *testing.T) {
	broken := errors.New("broken pipe")
	s := New(writerFunc(func([]byte) (int, error) { return 0, broken }))
	s.Printf("x")
	s.Printf("y")
	require.ErrorIs(t, s.Err(), broken)
}

func TestConcurrentUseKeepsLinesWhole(t *testing.T) {
	var out bytes.Buffer
	s := NewLive(&out, 80, 25, false)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				s.Printf("line-%d", i)
				s.Draw("block")
			}
		})
	}
	wg.Wait()
	s.Clear()
	lines := render(t, out.String())
	require.Len(t, lines, 400)
	for _, line := range lines {
		require.Regexp(t, `^line-\d$`, line)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// render plays output on a terminal of endless height and returns its lines.
func render(t *testing.T, output string) []string {
	t.Helper()
	lines, row := []string{""}, 0
	for output != "" {
		switch {
		case strings.HasPrefix(output, "\x1b["):
			end := strings.IndexAny(output, "AJKm")
			require.Positive(t, end)
			switch output[end] {
			case 'A':
				var up int
				_, err := fmt.Sscanf(output[2:end], "%d", &up)
				require.NoError(t, err)
				row -= up
				require.GreaterOrEqual(t, row, 0)
			case 'J':
				lines = append(lines[:row:row], "")
			}
			output = output[end+1:]
		case output[0] == '\r':
			output = output[1:]
		default:
			end := strings.IndexAny(output, "\x1b\n\r")
			if end < 0 {
				end = len(output)
			}
			text := output[:end]
			output = output[end:]
			if text != "" {
				lines[row] = text
			}
			if strings.HasPrefix(output, "\x1b[K") {
				lines[row] = text
				output = output[3:]
			}
			if strings.HasPrefix(output, "\n") {
				row++
				if row == len(lines) {
					lines = append(lines, "")
				}
				output = output[1:]
			}
		}
	}
	return lines[:len(lines)-1]
}
