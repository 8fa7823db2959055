// Package rulestore reads, writes and watches documents of rules where they are kept: in files, and on Nacos servers. An Address names one of either.
package rulestore

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"

	"github.com/cordon-go/cordon/datasource"
)

// A Store keeps one document. It is safe for concurrent use.
type Store interface {
	// Read returns what is kept now. That there is no document is no error.
	Read(ctx context.Context) (Content, error)
	// Write keeps data instead of was, which Read has returned. If something else has come there meanwhile, nothing is written, and the error is ErrConflict.
	Write(ctx context.Context, data []byte, was Content) error
	// Source delivers the document and its changes.
	Source() datasource.Source
	// Close ends the store and its sources.
	Close() error
}

// ErrConflict says that a document is no longer the one that was to be replaced.
var ErrConflict = errors.New("the document was changed meanwhile")

// Content is what a Store keeps.
type Content struct {
	// Data is the document; nil if Absent.
	Data []byte
	// Absent says that there is none.
	Absent bool
}

// Sum returns the MD5 sum of the data, as Nacos writes it: it tells contents apart, and is no protection; "" if there is no document.
func (c Content) Sum() string {
	if c.Absent {
		return ""
	}
	sum := md5.Sum(c.Data)
	return hex.EncodeToString(sum[:])
}
