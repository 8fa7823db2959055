package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/scripts/nacosserver"
)

// started is an engine that follows the documents on the server, with what is kept in the folder, and how long that took to begin.
func started(t *testing.T, address, folder string) (*cordon.Engine, time.Duration) {
	t.Helper()
	client, err := nacos.New(nacos.Config{Servers: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	eng, err := cordon.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	began := time.Now()
	if err := follow(context.Background(), eng, client, folder); err != nil {
		t.Fatal(err)
	}
	return eng, time.Since(began)
}

// A server that is away costs one wait for all documents together.
func TestFollowWithoutAServer(t *testing.T) {
	eng, took := started(t, "127.0.0.1:1", t.TempDir())
	if took >= 10*time.Second {
		t.Errorf("the start took %v", took)
	}
	if have := len(eng.Snapshot().Sources); have != 8 {
		t.Errorf("%d documents are followed, want 8", have)
	}
}

// What there is on a real server is in force at the start, and what there is not is no failure; without the server the rules of the copies are (faults #66).
func TestFollow(t *testing.T) {
	if testing.Short() {
		t.Skip("a real server takes a while to start")
	}
	if why := nacosserver.WhySkip(); why != "" {
		t.Skip(why)
	}
	home, err := os.MkdirTemp("", "cordon-nacos-")
	if err != nil {
		t.Fatal(err)
	}
	server, err := nacosserver.Start(home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
		os.RemoveAll(home)
	})
	for document, text := range map[nacosserver.Document]string{
		{Group: nacos.DefaultGroup, DataID: "shop-rules.yaml"}:  read(t, "rules.yaml"),
		{Group: nacos.SentinelGroup, DataID: "shop-flow-rules"}: `[{"resource":"dashboard","count":2}]`,
	} {
		if err := server.Publish(t.Context(), document, text); err != nil {
			t.Fatal(err)
		}
		for there := false; !there; time.Sleep(50 * time.Millisecond) {
			if _, there, err = server.Read(t.Context(), document); err != nil {
				t.Fatal(err)
			}
		}
	}
	folder := t.TempDir()
	eng, _ := started(t, server.Address(), folder)
	absent := 0
	for _, s := range eng.Snapshot().Sources {
		if s.LastError != "" {
			t.Error(s.Source, s.LastError)
		}
		if s.Absent {
			absent++
		}
	}
	want := eng.Snapshot().Rules["flow"]
	if absent != 6 || want < 2 {
		t.Errorf("%d documents are absent, want 6; there are %d limits", absent, want)
	}
	if err := eng.Close(); err != nil { // which ends the writing of copies
		t.Fatal(err)
	}
	if kept, _ := filepath.Glob(filepath.Join(folder, "*")); len(kept) != 2 {
		t.Errorf("kept are %v, want the two documents that exist", kept)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	eng, _ = started(t, server.Address(), folder)
	if have := eng.Snapshot().Rules["flow"]; have != want {
		t.Errorf("without the server there are %d limits, want %d", have, want)
	}
}
