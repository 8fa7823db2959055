package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/gateway"
	"github.com/cordon-go/cordon/sentinel"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What docs/nacos.md shows stands in this example, whose files are good.
func TestThePageShowsThisExample(t *testing.T) {
	page := read(t, "../../docs/nacos.md")
	for language, texts := range map[string][]string{"go": {read(t, "main.go"), read(t, "follow.go")}, "yaml": {read(t, "gateway.yaml")}} {
		text := strings.ReplaceAll(strings.Join(texts, ""), "\n\t", "\n")
		samples := strings.Split(page, "```"+language+"\n")[1:]
		if len(samples) == 0 {
			t.Errorf("the page shows nothing of %s", language)
		}
		for _, sample := range samples {
			sample, _, _ = strings.Cut(sample, "```")
			if !strings.Contains(text, sample) {
				t.Errorf("the example does not hold\n%s", sample)
			}
		}
	}
}

func TestTheFilesAreGood(t *testing.T) {
	if _, err := gateway.Load("gateway.yaml"); err != nil {
		t.Error(err)
	}
	decoded, err := cordon.Native("rules.yaml", []byte(read(t, "rules.yaml")))
	if err != nil || len(decoded.Problems) > 0 {
		t.Error(err, decoded.Problems)
	}
}

// The page's table of documents is the layout, and every kind in it is one that decoders know.
func TestThePageShowsTheLayout(t *testing.T) {
	page := read(t, "../../docs/nacos.md")
	client, err := nacos.New(nacos.Config{Servers: []string{"127.0.0.1:8848"}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	rows := 0
	for _, d := range client.Sentinel("shop") {
		name := d.Source.Name()
		row := "| `" + name[strings.LastIndexByte(name, '/')+1:] + "` | `" + d.Kind + "` |"
		if !strings.Contains(page, row) {
			t.Errorf("the page has no row %s", row)
		}
		rows++
		if _, err := sentinel.ParseKind(d.Kind); err != nil {
			t.Error(err)
		}
	}
	if have := strings.Count(page, "| `shop-"); have != rows {
		t.Errorf("the page has %d documents, want %d", have, rows)
	}
}
