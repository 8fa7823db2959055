// Command docgen writes what docs/ says of the rule document from the rules' own Go source: the tables of fields in
// docs/rules.md and the JSON Schema for editors, docs/rules.schema.json. Run it from the root of the repository.
package main

import (
	"fmt"
	"os"
)

func main() {
	files, err := generate(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
	for name, data := range files {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "docgen:", err)
			os.Exit(1)
		}
	}
}
