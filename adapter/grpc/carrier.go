package cordongrpc

import (
	"context"
	"net"
	"net/netip"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/cordon-go/cordon/extractor"
)

// carrier is what rules look at in a call besides its message.
type carrier struct {
	ctx     context.Context
	cfg     *config
	inbound bool
}

// Lookup returns what the call has under a key. The other end is not known to a client before it is connected to.
func (c *carrier) Lookup(part extractor.Part, key string) (extractor.Value, bool) {
	switch part {
	case extractor.Metadata:
		values := metadata.ValueFromIncomingContext
		if !c.inbound {
			values = metadata.ValueFromOutgoingContext
		}
		if v := values(c.ctx, key); len(v) > 0 {
			return extractor.Text(v[0]), true
		}
	case extractor.Peer, extractor.Client:
		if c.inbound {
			return peerAddress(c.ctx)
		}
	case extractor.Values:
		if c.cfg.values != nil {
			return extractor.Of(c.cfg.values(c.ctx, key))
		}
	}
	return extractor.Value{}, false
}

// Body returns extractor.ErrNoBody: a message is an argument.
func (c *carrier) Body(int) ([]byte, error) { return nil, extractor.ErrNoBody }

// peerAddress returns the peer's IP address in its shortest form, IPv4 without a mapping into IPv6; none for other kinds of sockets.
func peerAddress(ctx context.Context) (extractor.Value, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return extractor.Value{}, false
	}
	var at netip.AddrPort
	if tcp, ok := p.Addr.(*net.TCPAddr); ok {
		at = tcp.AddrPort()
	} else if at, _ = netip.ParseAddrPort(p.Addr.String()); !at.IsValid() {
		return extractor.Value{}, false
	}
	addr := at.Addr().Unmap()
	if !addr.IsValid() {
		return extractor.Value{}, false
	}
	var buf [64]byte
	return extractor.Bytes(addr.AppendTo(buf[:0])), true
}
