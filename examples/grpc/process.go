package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// process is a server in a process of its own, and a plain client of it.
type process struct {
	address string
	rules   string
	cmd     *exec.Cmd
	stdin   io.Closer
	conn    *grpc.ClientConn
}

// start starts a server at an address, or at a new one.
func start(address, rules string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{rules: rules, cmd: exec.Command(self, "serve", "-address", address, rules)}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("a server does not start: %w", err)
	}
	p.address = strings.TrimSpace(line)
	p.conn, err = grpc.NewClient(p.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// kill ends the process as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.stdin.Close()
	_ = p.cmd.Wait() // says how it ended
	if p.conn != nil {
		_ = p.conn.Close()
	}
}

// sicken makes the server fail every so many orders.
func (p *process) sicken(ctx context.Context, every int64) error {
	return p.conn.Invoke(ctx, sicken, wrapperspb.Int64(every), &emptypb.Empty{})
}

// counted returns how many orders the server was sent.
func (p *process) counted(ctx context.Context) (int, error) {
	n := &wrapperspb.Int64Value{}
	err := p.conn.Invoke(ctx, counted, &emptypb.Empty{}, n)
	return int(n.GetValue()), err
}
