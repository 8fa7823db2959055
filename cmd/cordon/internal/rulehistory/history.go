// Package rulehistory keeps what documents of rules were, on this machine: what was pushed from it, and what that took the place of.
package rulehistory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cordon-go/cordon/cmd/cordon/internal/wholefile"
)

// Most is how many versions are kept of a document; the oldest go.
const Most = 100

// ErrNoVersion says that a version was never kept, or is no longer.
var ErrNoVersion = errors.New("no such version")

// A History keeps the versions of one document, in a folder. Several processes may add to it at once.
type History struct{ folder string }

// A Version is what a document was at some time.
type Version struct {
	// Number counts the document's versions from 1; none is given twice.
	Number int `json:"version"`
	// Time is when it was kept.
	Time time.Time `json:"time"`
	// Target is the address of the document.
	Target string `json:"target"`
	// Source is where the content comes from: a file, an older version; "" for what was found there.
	Source string `json:"source,omitempty"`
	// User is who pushed it, or who found it.
	User string `json:"user,omitempty"`
	// Changes count what it changed; "" for what was found there.
	Changes string `json:"changes,omitempty"`
	// Sum is the content's SHA-256 sum, and Bytes its length.
	Sum   string `json:"sha256"`
	Bytes int    `json:"bytes"`
	// Damaged is why nothing is known of the version but its number, "" for all that are well.
	Damaged string `json:"damaged,omitempty"`
}

// Default returns the folder of all histories of the user: $XDG_STATE_HOME/cordon/rules, or what stands for that on the system.
func Default() (string, error) {
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "cordon", "rules"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no place for the history: %w", err)
	}
	return filepath.Join(home, ".local", "state", "cordon", "rules"), nil
}

// Of returns the history of the document with that key, in the folder of all histories. Nothing is read or made yet.
func Of(root, key string) History {
	readable := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, key)
	if len(readable) > longestName {
		readable = readable[len(readable)-longestName:]
	}
	sum := sha256.Sum256([]byte(key))
	return History{filepath.Join(root, strings.Trim(readable, "._")+"-"+hex.EncodeToString(sum[:6]))}
}

// longestName is how much of a key a folder's name shows; the key's end tells most.
const longestName = 80

// Add keeps a version, and returns it with its number and what is known by its data. If the newest version has the same content, and v was only found, that one is returned.
func (h History) Add(v Version, data []byte) (Version, error) {
	if err := os.MkdirAll(h.folder, 0o700); err != nil {
		return v, err
	}
	v.Bytes, v.Sum = len(data), sumOf(data)
	versions, err := h.List()
	if err != nil {
		return v, err
	}
	if len(versions) > 0 && v.Source == "" && versions[0].Sum == v.Sum {
		return versions[0], nil
	}
	if v.Number, err = h.claim(); err != nil {
		return v, err
	}
	if err := wholefile.Write(h.path(v.Number, dataEnd), data, 0o600); err != nil {
		return v, err
	}
	about, err := json.Marshal(v)
	if err != nil {
		return v, err
	}
	if err := wholefile.Write(h.path(v.Number, aboutEnd), append(about, '\n'), 0o600); err != nil {
		return v, err
	}
	for _, old := range versions[min(len(versions), Most-1):] {
		h.drop(old.Number)
	}
	return v, nil
}

// A version is two files: its data, and what is known about it, which comes last and goes first.
const (
	dataEnd  = ".rules"
	aboutEnd = ".json"
)

func (h History) path(number int, end string) string {
	return filepath.Join(h.folder, fmt.Sprintf("%06d", number)+end)
}

// claim returns a number that no other process gets.
func (h History) claim() (int, error) {
	entries, err := os.ReadDir(h.folder)
	if err != nil {
		return 0, err
	}
	next := 1
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))); err == nil {
			next = max(next, n+1)
		}
	}
	for ; ; next++ {
		f, err := os.OpenFile(h.path(next, dataEnd), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return next, f.Close()
	}
}

// drop removes a version. What cannot be removed stays; the next one that is added tries again.
func (h History) drop(number int) {
	if os.Remove(h.path(number, aboutEnd)) == nil {
		_ = os.Remove(h.path(number, dataEnd))
	}
}

// List returns the versions, newest first; none if nothing was ever kept. One that is damaged is in the list, and hides no other.
func (h History) List() ([]Version, error) {
	entries, err := os.ReadDir(h.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var versions []Version
	for _, e := range entries {
		number, ok := strings.CutSuffix(e.Name(), aboutEnd)
		n, err := strconv.Atoi(number)
		if !ok || err != nil || filepath.Base(h.path(n, aboutEnd)) != e.Name() {
			continue // another file, or one that was not finished
		}
		v, err := h.about(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue // dropped meanwhile
		}
		if err != nil {
			v = Version{Number: n, Damaged: err.Error()}
		}
		versions = append(versions, v)
	}
	slices.SortFunc(versions, func(a, b Version) int { return cmp.Compare(b.Number, a.Number) })
	return versions, nil
}

// about reads what is known of a version.
func (h History) about(number int) (Version, error) {
	path := h.path(number, aboutEnd)
	data, err := os.ReadFile(path)
	if err != nil {
		return Version{}, err
	}
	var v Version
	if err := json.Unmarshal(data, &v); err != nil {
		return Version{}, fmt.Errorf("%s: %w", path, err)
	}
	if v.Number != number || v.Damaged != "" {
		return Version{}, fmt.Errorf("%s: it is about version %d", path, v.Number)
	}
	return v, nil
}

// Read returns a version and its data.
func (h History) Read(number int) (Version, []byte, error) {
	v, err := h.about(number)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil, ErrNoVersion
	}
	if err != nil {
		return v, nil, fmt.Errorf("it is damaged: %w", err)
	}
	data, err := os.ReadFile(h.path(number, dataEnd))
	if err != nil {
		return v, nil, err
	}
	if sumOf(data) != v.Sum {
		return v, nil, fmt.Errorf("it is damaged: %s does not hold what was kept", h.path(number, dataEnd))
	}
	return v, data, nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
