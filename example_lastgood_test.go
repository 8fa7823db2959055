package cordon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource/file"
)

// A service that starts while its rules cannot be had starts with those of its last run.
func ExampleLastGood() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	rules, lastGood := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "rules.last")
	run := func() {
		eng, err := cordon.New()
		if err != nil {
			fmt.Println(err)
			return
		}
		defer eng.Close()
		if _, err := eng.Watch(context.Background(), file.Source(rules), cordon.Native, cordon.LastGood(lastGood)); err != nil {
			fmt.Println(err)
		}
		source := eng.Snapshot().Sources[0]
		fmt.Println(source.Rules, "rule, stale:", source.Stale)
	}

	if err := os.WriteFile(rules, []byte("flow: [{id: orders, resource: orders.Create, limit: 100}]\ncordon: 1\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	run()
	if err := os.Remove(rules); err != nil {
		fmt.Println(err)
		return
	}
	run()
	// Output:
	// 1 rule, stale: false
	// 1 rule, stale: true
}
