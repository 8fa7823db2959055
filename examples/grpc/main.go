// Command grpc shows a load balancing policy that takes sick instances out. It starts three servers, each a process of its own, and calls them, by rules from files, while one fails half of its
// calls, one is killed, and all are sick. It ends by itself. From the top of the repository:
//
//	go run ./examples/grpc
//
// A server can be had alone, too:
//
//	go run ./examples/grpc serve -address 127.0.0.1:50051 -fail-every 2 examples/grpc/server.yaml
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "grpc:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	if len(args) > 0 && args[0] == "serve" {
		f := flag.NewFlagSet("serve", flag.ExitOnError)
		address := f.String("address", "127.0.0.1:0", "where to listen")
		every := f.Int64("fail-every", 0, "fail every so many orders; 0: none")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		if f.NArg() != 1 {
			return fmt.Errorf("usage: grpc serve [flags] RULES")
		}
		return serve(*address, f.Arg(0), *every)
	}
	dir := "examples/grpc"
	if len(args) == 1 {
		dir = args[0]
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // it takes a few seconds
	defer cancel()
	return show(ctx, os.Stdout, dir)
}
