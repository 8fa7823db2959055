package datasource_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
)

// writerEnv makes this test's program a writer of the last-good file it names.
const writerEnv = "CORDON_TEST_LAST_GOOD"

// writeLastGood applies documents of all sizes and saves each, until it is killed.
func writeLastGood(path string) {
	f := make(feed)
	p := datasource.Start(context.Background(), f, func(datasource.Document) error { return nil }, datasource.PumpOptions{LastGood: path, Debounce: -1})
	for i := 0; ; i++ {
		f <- datasource.Update{Document: datasource.Document{Data: []byte(document(os.Getpid(), i)), Version: fmt.Sprint(i)}}
		if err := p.Health().LastGoodError; err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// document is the i-th of a process: it can be told from a part of it, and from a mixture with another.
func document(pid, i int) string {
	return fmt.Sprintf("%d %d %s", pid, i, strings.Repeat(fmt.Sprintf("%d.%d\n", pid, i), i*997%20_000))
}

// faults #78: two processes write to one path and are killed at any moment, again and again: what is there is always a whole document of
// one of them, from which the next process starts.
func TestProcessesShareLastGoodAndAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	path := filepath.Join(t.TempDir(), "last-good")
	program, err := os.Executable()
	require.NoError(t, err)
	spawn := func() *exec.Cmd {
		c := exec.Command(program)
		c.Env = append(os.Environ(), writerEnv+"="+path)
		c.Stderr = os.Stderr
		require.NoError(t, c.Start())
		return c
	}
	writers := []*exec.Cmd{spawn(), spawn()}
	defer func() {
		for _, w := range writers {
			_ = w.Process.Kill()
			_ = w.Wait()
		}
	}()
	for round := range 8 {
		// The one that is to be killed has written at least once.
		victim := writers[round%2]
		require.Eventually(t, func() bool { return strings.HasPrefix(lastGood(t, path), fmt.Sprint(victim.Process.Pid, " ")) }, time.Minute, time.Millisecond)
		require.NoError(t, victim.Process.Kill())
		require.Error(t, victim.Wait())
		_ = lastGood(t, path)
		writers[round%2] = spawn()
	}
}

// lastGood returns what a process that starts now has in force, "" before there is anything. It must be whole.
func lastGood(t *testing.T, path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	got := make(chan string, 1)
	p := datasource.Start(t.Context(), make(feed), func(d datasource.Document) error {
		got <- string(d.Data)
		return nil
	}, datasource.PumpOptions{LastGood: path})
	defer func() { require.NoError(t, p.Close()) }()
	require.Eventually(t, func() bool { return len(got) > 0 || p.Health().LastGoodError != nil }, time.Minute, time.Millisecond)
	require.NoError(t, p.Health().LastGoodError)
	text := <-got
	var pid, i int
	_, err := fmt.Sscan(text, &pid, &i)
	require.NoError(t, err)
	require.Equal(t, document(pid, i), text)
	return text
}
