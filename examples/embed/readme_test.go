package main

import (
	"os"
	"strings"
	"testing"
)

// The program that README shows is this one, which Example runs.
func TestReadmeShowsThisProgram(t *testing.T) {
	data, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(data), "package main\n")
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\npackage main\n"+program+"```") {
		t.Error("README.md does not hold examples/embed/main.go as it is")
	}
}
