// Command cordon is the command line of cordon: a demo of what it does, a gateway that embeds it, and tools for rule documents.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to end; a second one ends at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], streams{in: &interruptible{ctx, os.Stdin}, out: os.Stdout, err: os.Stderr}))
}
