package file_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/file"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(path, []byte("limit: 10"), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	// The pump gives every new content of the file to this function.
	applied := make(chan string)
	pump := datasource.Start(context.Background(), file.Source(path), func(d datasource.Document) error {
		applied <- string(d.Data)
		return nil
	}, datasource.PumpOptions{})
	defer pump.Close()
	fmt.Println(<-applied)

	// Writers write to another name and rename, so that no reader sees half a document.
	if err := os.WriteFile(path+".new", []byte("limit: 20"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	if err := os.Rename(path+".new", path); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-applied)
	// Output:
	// limit: 10
	// limit: 20
}
