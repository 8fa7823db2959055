package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cordon-go/cordon/gateway"
)

// A ruleStore is where the rule document is kept while the demo runs: the gateway watches it there, and the chapters edit it.
type ruleStore interface {
	// place says where the document is, for people.
	place() string
	// toEdit says what to edit, or what to do for it, a line each.
	toEdit() []string
	// words are what it and its editing are called.
	words() storeWords
	// watchedBy makes a gateway take its rules from here.
	watchedBy(*gateway.Config) []gateway.Option
	// replace puts another document in the place of the one that is there, with care; overwrite does so carelessly, if there is a difference.
	replace(ctx context.Context, document string) error
	overwrite(ctx context.Context, document string) error
	// shorten leaves out of a message what the demo has said before.
	shorten(message string) string
	// close forgets the document.
	close(context.Context) error
}

// storeWords are words for what happens to a document.
type storeWords struct {
	// document is what it is, write what puts a part of it there, and replaced how a whole one came there.
	document, write, replaced string
}

// A fileStore keeps the document in a file in a folder of its own.
type fileStore struct {
	folder string
	file   ruleFile
}

func newFileStore() (*fileStore, error) {
	folder, err := os.MkdirTemp("", "cordon-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the rules: %w", err)
	}
	return &fileStore{folder, ruleFile{filepath.Join(folder, "rules.yaml")}}, nil
}

func (f *fileStore) place() string { return f.file.path }

func (f *fileStore) toEdit() []string { return []string{f.file.path} }

func (f *fileStore) words() storeWords {
	return storeWords{document: "file", write: "write", replaced: "a new file renamed over the old one"}
}

func (f *fileStore) watchedBy(c *gateway.Config) []gateway.Option {
	c.Rules = []gateway.RuleSource{{File: f.file.path}}
	return nil
}

func (f *fileStore) replace(_ context.Context, document string) error {
	return f.file.replace(document)
}

func (f *fileStore) overwrite(_ context.Context, document string) error {
	return f.file.overwrite(document)
}

func (f *fileStore) shorten(message string) string {
	return strings.ReplaceAll(message, f.folder+string(filepath.Separator), "")
}

func (f *fileStore) close(context.Context) error { return os.RemoveAll(f.folder) }
