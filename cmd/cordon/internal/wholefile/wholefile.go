// Package wholefile writes files such that a reader, or a crash, never finds part of one.
package wholefile

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts data into the file at path, in place of what is there: the data is on the disk before the name leads to it. The folder must exist.
func Write(path string, data []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
