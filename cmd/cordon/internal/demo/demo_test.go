package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
)

func TestARunEndsByItselfAndLeavesNothingBehind(t *testing.T) {
	var out bytes.Buffer
	var folder string
	summary, err := perform(t.Context(), screen.New(&out), Options{}, []chapter{
		func(s *stage, _ context.Context) error {
			s.title("A first look", "one call per service")
			folder = filepath.Dir(s.store.place())
			for _, service := range s.services() {
				send(service.load)
			}
			s.found(true, "fine")
			s.outcome("good")
			return nil
		},
	})
	require.NoError(t, err, out.String())
	require.Empty(t, summary.Broken())
	require.Equal(t, []string{"good"}, summary.Outcomes)
	require.EqualValues(t, 4, summary.Calls)
	require.Zero(t, summary.Lost)
	require.NoDirExists(t, folder)
	require.Contains(t, out.String(), "All 1 promises held.")
}

func TestAChapterThatCannotBePlayedHasNotHeld(t *testing.T) {
	var out bytes.Buffer
	summary, err := perform(t.Context(), screen.New(&out), Options{}, []chapter{
		func(s *stage, _ context.Context) error {
			s.title("Trouble", "")
			return errors.New("the file cannot be written")
		},
		func(*stage, context.Context) error { panic("the play has ended") },
	})
	require.NoError(t, err)
	require.Equal(t, []Finding{{Chapter: 1, Text: "the file cannot be written"}}, summary.Broken())
	require.Equal(t, 1, summary.Unplayed)
	require.Contains(t, out.String(), "chapters that could not be played after this: 1")
	require.Contains(t, out.String(), "1 of 1 promises did not hold.")
}

func TestARunCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	_, err := perform(ctx, screen.New(&out), Options{}, []chapter{
		func(s *stage, ctx context.Context) error {
			s.search.load.perSecond.Store(searchRate)
			cancel()
			return s.let(ctx, time.Hour)
		},
	})
	require.ErrorIs(t, err, ErrInterrupted)
}

func TestARunThatCannotStartSaysWhy(t *testing.T) {
	t.Setenv("TMPDIR", "/no/such/folder")
	t.Setenv("TMP", "/no/such/folder")
	_, err := perform(t.Context(), screen.New(&bytes.Buffer{}), Options{}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "making a folder for the rules")
}

// A machine that stalls fails the chapter and not the program: waiting ends.
func TestAwaitGivesUp(t *testing.T) {
	s, _ := newBooks()
	came, err := s.await(t.Context(), time.Millisecond, func() bool { return false })
	require.NoError(t, err)
	require.False(t, came)
	came, err = s.await(t.Context(), time.Hour, func() bool { return true })
	require.NoError(t, err)
	require.True(t, came)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.await(ctx, time.Hour, func() bool { return false })
	require.ErrorIs(t, err, context.Canceled)
}
