package fakenacos

import (
	"context"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc/test/bufconn"
)

// A Network is addresses in memory, so that tests can run in virtual time. Its zero value is ready to use, and it is safe for concurrent use.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*bufconn.Listener
}

// bufferSize is how much a socket in memory takes before the writer waits.
const bufferSize = 1 << 20

// Listen takes connections to the address until the listener is closed.
func (n *Network) Listen(address string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[address] != nil {
		return nil, fmt.Errorf("listen %s: address is in use", address)
	}
	if n.listeners == nil {
		n.listeners = map[string]*bufconn.Listener{}
	}
	l := bufconn.Listen(bufferSize)
	n.listeners[address] = l
	return &listener{l, n, address}, nil
}

// Dial connects to whoever listens at the address.
func (n *Network) Dial(ctx context.Context, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	if l != nil {
		if conn, err := l.DialContext(ctx); err == nil || ctx.Err() != nil {
			return conn, err
		}
	}
	return nil, fmt.Errorf("dial %s: connection refused", address)
}

type listener struct {
	*bufconn.Listener
	network *Network
	address string
}

// Close frees the address.
func (l *listener) Close() error {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	if l.network.listeners[l.address] == l.Listener {
		delete(l.network.listeners, l.address)
	}
	return l.Listener.Close()
}
