package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"google.golang.org/grpc"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/datasource/file"
)

// serve is a server: it listens, says where, and serves until its standard input ends.
func serve(address, rules string, every int64) error {
	eng, err := cordon.New()
	if err != nil {
		return err
	}
	defer eng.Close()
	if _, err := eng.Watch(context.Background(), file.Source(rules), cordon.Native); err != nil {
		return err
	}
	srv := grpc.NewServer(cordongrpc.ServerOptions(eng)...)
	o := &orders{}
	o.every.Store(every)
	srv.RegisterService(description(), o)
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends with the process that started this one
		srv.Stop()
	}()
	return srv.Serve(l)
}
