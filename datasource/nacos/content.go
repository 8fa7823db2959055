package nacos

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/cordon-go/cordon/datasource"
)

// Content is what a document holds.
type Content struct {
	// Data is the content. The caller may keep and change it.
	Data []byte
	// MD5 is the content's MD5 by the server's account, in lower-case hexadecimal: what IfMD5 takes.
	MD5 string
}

// A key names a document within the namespace.
type key struct{ group, dataID string }

func (k key) String() string { return k.group + "/" + k.dataID }

// check says what is wrong with the names.
func (k key) check() error {
	if fault := nameFault(k.group); fault != "" {
		return fmt.Errorf("nacos: group %q %s", k.group, fault)
	}
	if fault := nameFault(k.dataID); fault != "" {
		return fmt.Errorf("nacos: data id %q %s", k.dataID, fault)
	}
	return nil
}

// A reading is what the server said that a document holds.
type reading struct {
	// md5 is that of the content, "" if there is none: no document, or an empty one.
	md5      string
	data     []byte
	modified time.Time // zero if the server does not say
}

// document returns the reading as it is delivered.
func (r reading) document() datasource.Document {
	version := r.md5[:min(len(r.md5), versionLength)]
	if !r.modified.IsZero() {
		version = r.modified.UTC().Format("2006-01-02T15:04:05.000Z") + "-" + version
	}
	return datasource.Document{Data: r.data, Version: version}
}

// versionLength is how much of the MD5 names a version.
const versionLength = 12

// sum returns the MD5 of some content as servers write it, "" for no content.
func sum(content string) string {
	if content == "" {
		return ""
	}
	digest := md5.Sum([]byte(content))
	return hex.EncodeToString(digest[:])
}
