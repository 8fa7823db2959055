//go:build !windows

package datasource

import (
	"errors"
	"os"
	"syscall"
)

// syncFolder makes a rename in the folder outlive a crash of the system. Some file systems cannot do that for folders, which is no fault of the rename.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
