package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// maxLinks is how many symlinks a path may lead over.
const maxLinks = 255

// cheapFolders says that watching a folder costs the same whatever is in it. Then all folders on the way are watched: one that
// is moved or removed tells so itself, however far up it is. Elsewhere (kqueue opens every file in a folder) only the
// folders are watched in which a change of the file or of a link on the way to it shows; that of a folder further up
// is then seen by polling.
const cheapFolders = runtime.GOOS == "linux"

// A chain is the way to the file as it is now: every folder in which a name is looked up, over all symlinks.
type chain struct {
	folders []folder
	// names are those looked up: the only ones whose changes matter.
	names []string
}

// A folder is one that lies on the way, under its real path (no symlink in it).
type folder struct {
	path string
	info fs.FileInfo // nil if it could not be had
	// needed is true if a link on the way, the file, or what is missing of the way lies directly in it.
	needed bool
}

// resolve follows the absolute path as far as it leads.
func resolve(path string) chain {
	var c chain
	dir, rest := split(path)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			dir = filepath.Dir(dir)
			continue
		}
		full := filepath.Join(dir, name)
		info, err := os.Lstat(full)
		isLink := err == nil && info.Mode()&fs.ModeSymlink != 0
		c.add(dir, name, err != nil || isLink || len(rest) == 0)
		switch {
		case err != nil:
			return c
		case isLink:
			target, err := os.Readlink(full)
			if links++; err != nil || links > maxLinks {
				return c
			}
			root, names := split(target)
			if root != "" {
				dir = root
			} else if target != "" && os.IsPathSeparator(target[0]) {
				dir = filepath.VolumeName(dir) + string(filepath.Separator) // Windows: the root of the same volume
			}
			rest = append(names, rest...)
		default:
			dir = full
		}
	}
	return c
}

// split cuts a path into its root, "" if it is relative, and the names on the way.
func split(path string) (root string, names []string) {
	volume := filepath.VolumeName(path)
	names = strings.FieldsFunc(path[len(volume):], func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	names = slices.DeleteFunc(names, func(name string) bool { return name == "." })
	if filepath.IsAbs(path) {
		root = volume + string(filepath.Separator)
	}
	return root, names
}

// add notes that name is looked up in dir.
func (c *chain) add(dir, name string, needed bool) {
	c.names = append(c.names, name)
	i := slices.IndexFunc(c.folders, func(f folder) bool { return f.path == dir })
	if i < 0 {
		info, err := os.Stat(dir)
		if err != nil {
			info = nil
		}
		c.folders = append(c.folders, folder{path: dir, info: info})
		i = len(c.folders) - 1
	}
	c.folders[i].needed = c.folders[i].needed || needed
}

// same reports whether the way is the same one, over the same folders.
func (c chain) same(d chain) bool {
	return slices.Equal(c.names, d.names) && slices.EqualFunc(c.folders, d.folders, func(f, g folder) bool {
		if f.info == nil || g.info == nil {
			return f.path == g.path && f.info == nil && g.info == nil
		}
		return f.path == g.path && os.SameFile(f.info, g.info)
	})
}

// watched returns the folders to watch.
func (c chain) watched() []folder {
	return slices.DeleteFunc(slices.Clone(c.folders), func(f folder) bool { return !f.needed && (!cheapFolders || f.restless()) })
}

// restless reports whether the folder has nothing to tell of itself but much of others: the root, and those that everybody
// makes files in (the temporary ones have the sticky bit).
func (f folder) restless() bool {
	return filepath.Dir(f.path) == f.path || f.info == nil || f.info.Mode()&fs.ModeSticky != 0
}
