package servertest

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/scripts/nacosserver"
)

// A network stands between clients and the server. It can be cut, and fall silent: then it takes connections and what is sent by them, and never answers.
type network struct {
	http, grpc net.Listener
	wg         sync.WaitGroup

	// mu guards the rest. turned is closed when the condition changes.
	mu        sync.Mutex
	condition condition
	turned    chan struct{}
	conns     map[net.Conn]bool
	pushed    time.Time
}

type condition int

const (
	whole condition = iota
	cut
	silent
	ended
)

func newNetwork(t *testing.T, s *nacosserver.Server, first condition) *network {
	t.Helper()
	n := &network{condition: first, turned: make(chan struct{}), conns: map[net.Conn]bool{}}
	for _, way := range []struct {
		l  *net.Listener
		to string
	}{{&n.http, s.Address()}, {&n.grpc, s.GRPCAddress()}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		*way.l = l
		n.wg.Go(func() { n.accept(l, way.to) })
	}
	t.Cleanup(func() {
		n.turn(ended)
		_, _ = n.http.Close(), n.grpc.Close() // nobody uses them any more
		n.wg.Wait()
	})
	return n
}

// address is what clients call the server by.
func (n *network) address() string {
	return fmt.Sprintf("%s?grpc=%d", n.http.Addr(), n.grpc.Addr().(*net.TCPAddr).Port)
}

// turn changes the condition. Connections survive only what leaves them unharmed: not a cut, nor the end of a silence.
func (n *network) turn(to condition) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if to != silent {
		for c := range n.conns {
			_ = c.Close() // the other side may have been faster
		}
	}
	n.condition = to
	close(n.turned)
	n.turned = make(chan struct{})
}

func (n *network) accept(l net.Listener, to string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		n.wg.Go(func() { n.connect(client, to) })
	}
}

// connect joins a client to the server, unless the network is not whole.
func (n *network) connect(client net.Conn, to string) {
	defer client.Close()
	if !n.enter(client) {
		return
	}
	defer n.leave(client)
	if !n.passes() {
		return
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { n.carry(server, client, func([]byte) {}) })
	both.Go(func() { n.carry(client, server, n.fromServer) })
	both.Wait()
}

func (n *network) enter(c net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[c] = true
	return n.condition == whole || n.condition == silent
}

func (n *network) leave(c net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

// passes waits out a silence. It reports whether what was sent may go on.
func (n *network) passes() bool {
	for {
		n.mu.Lock()
		now, turned := n.condition, n.turned
		n.mu.Unlock()
		if now != silent {
			return now == whole
		}
		<-turned
	}
}

// carry carries one direction, and ends both.
func (n *network) carry(to, from net.Conn, look func([]byte)) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		k, err := from.Read(buffer)
		if !n.passes() {
			return
		}
		look(buffer[:k])
		if _, failed := to.Write(buffer[:k]); failed != nil || err != nil {
			return
		}
	}
}

// fromServer notes when the server told of a change.
func (n *network) fromServer(data []byte) {
	if bytes.Contains(data, []byte("ConfigChangeNotifyRequest")) {
		n.mu.Lock()
		n.pushed = time.Now()
		n.mu.Unlock()
	}
}

// lastPush returns when the server last told of a change.
func (n *network) lastPush() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.pushed
}
