package main

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// samples returns the samples of one language on the page.
func samples(t *testing.T, language string) (all []string) {
	t.Helper()
	for _, s := range strings.Split(read(t, "../../docs/grpc.md"), "```"+language+"\n")[1:] {
		sample, _, _ := strings.Cut(s, "```")
		all = append(all, sample)
	}
	if len(all) == 0 {
		t.Fatalf("the page has nothing in %s", language)
	}
	return all
}

// The rules of the page and of the example are good.
func TestTheRulesAreGood(t *testing.T) {
	for _, text := range append(samples(t, "yaml"), read(t, "client.yaml"), read(t, "server.yaml")) {
		decoded, err := cordon.Native("rules.yaml", []byte(text))
		if err != nil || len(decoded.Problems) > 0 {
			t.Errorf("%v %v\n%s", err, decoded.Problems, text)
		}
	}
}

// The service configs of the page are good.
func TestTheServiceConfigsAreGood(t *testing.T) {
	eng, err := cordon.New()
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	const name = "cordon-on-the-page"
	if err := cordongrpc.Register(eng, name); err != nil {
		t.Fatal(err)
	}
	for _, text := range append(samples(t, "json"), balanced, retrying) {
		conn, err := grpc.NewClient("dns:///orders:50051", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultServiceConfig(strings.ReplaceAll(text, `"cordon"`, `"`+name+`"`)))
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		_ = conn.Close()
	}
}
