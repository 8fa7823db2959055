// Package fakenacos is a small Nacos server for tests: documents over gRPC, the login over HTTP, on sockets or in memory. It does what the real one was
// seen to do, and on request what it does on bad days: notices that are lost or late, answers that are old, refusals, silence, restarts.
package fakenacos

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"

	auto "github.com/nacos-group/nacos-sdk-go/v2/api/grpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/stats"
)

// A Key names a document: its Namespace ("" is the public one), Group and DataID.
type Key struct{ Namespace, Group, DataID string }

// A Server is a Nacos server. Its methods are safe for concurrent use.
type Server struct {
	auto.UnimplementedRequestServer
	auto.UnimplementedBiRequestStreamServer

	// Moods are what the server does on bad days. They may be changed at any time.
	Moods

	listen func(address string) (net.Listener, error)
	tls    *tls.Config
	// httpAt and grpcAt are where it listens, from the first start on.
	httpAt, grpcAt string

	mu    sync.Mutex // guards all below
	grpc  *grpc.Server
	http  *http.Server
	serve sync.WaitGroup
	// documents are what is stored, frozen what reads answer instead.
	documents, frozen map[Key]string
	// kinds are what publishers said the documents are.
	kinds   map[Key]string
	clients map[uint64]*client
	newest  uint64
	counts  map[string]int
	login   login
}

// New returns a server that will listen through listen, with TLS if config is not nil.
func New(listen func(address string) (net.Listener, error), config *tls.Config) *Server {
	return &Server{
		listen:    listen,
		tls:       config,
		documents: map[Key]string{},
		frozen:    map[Key]string{},
		kinds:     map[Key]string{},
		clients:   map[uint64]*client{},
		counts:    map[string]int{},
	}
}

// Sockets listens on the loopback interface.
func Sockets(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// Start begins to serve at the addresses, for HTTP and for gRPC. A port of 0 becomes a free one, which later starts use again.
func (s *Server) Start(httpAt, grpcAt string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	web, err := s.listen(httpAt)
	if err != nil {
		return err
	}
	rpc, err := s.listen(grpcAt)
	if err != nil {
		_ = web.Close()
		return err
	}
	s.httpAt, s.grpcAt = addressOf(web, httpAt), addressOf(rpc, grpcAt)
	options := []grpc.ServerOption{grpc.StatsHandler(tagger{s}), grpc.MaxRecvMsgSize(64 << 20), grpc.WaitForHandlers(true)}
	if s.tls != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.tls)))
		web = tls.NewListener(web, s.tls)
	}
	s.grpc = grpc.NewServer(options...)
	auto.RegisterRequestServer(s.grpc, s)
	auto.RegisterBiRequestStreamServer(s.grpc, s)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /nacos/v1/auth/users/login", s.serveLogin)
	s.http = &http.Server{Handler: mux, ErrorLog: log.New(io.Discard, "", 0)}
	server, pages := s.grpc, s.http
	s.serve.Go(func() { _ = server.Serve(rpc) })
	s.serve.Go(func() { _ = pages.Serve(web) })
	return nil
}

// addressOf returns where a listener listens; memory has no addresses but those asked for.
func addressOf(l net.Listener, asked string) string {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		return tcp.String()
	}
	return asked
}

// Stop ends the server as a crash would: connections break, what is stored stays.
func (s *Server) Stop() {
	s.mu.Lock()
	rpc, pages := s.grpc, s.http
	s.grpc, s.http = nil, nil
	s.mu.Unlock()
	if rpc != nil {
		s.release()
		rpc.Stop()
		_ = pages.Close()
		s.serve.Wait()
	}
}

// Restart starts a stopped server at the addresses it had.
func (s *Server) Restart() error { return s.Start(s.httpAt, s.grpcAt) }

// Address is what a client is configured with.
func (s *Server) Address() string {
	_, port, _ := net.SplitHostPort(s.grpcAt)
	return s.httpAt + "?grpc=" + port
}

// HTTP is where it listens for HTTP.
func (s *Server) HTTP() string { return s.httpAt }

// Set stores a document, or removes it if the content is "", and gives notice.
func (s *Server) Set(k Key, content string) {
	s.SetQuietly(k, content)
	s.Notify(k)
}

// SetQuietly stores a document, or removes it, and the notice gets lost.
func (s *Server) SetQuietly(k Key, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if content == "" {
		delete(s.documents, k)
	} else {
		s.documents[k] = content
	}
}

// Document returns what is stored, "" if nothing is.
func (s *Server) Document(k Key) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.documents[k]
}

// Clear forgets all documents, and gives no notice.
func (s *Server) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.documents)
}

// Freeze makes reads of the document answer what it is now, whatever is published, until Thaw.
func (s *Server) Freeze(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen[k] = s.documents[k]
}

// Thaw ends Freeze.
func (s *Server) Thaw(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.frozen, k)
}

// seen returns what reads see of a document. The caller holds s.mu.
func (s *Server) seen(k Key) string {
	if content, ok := s.frozen[k]; ok {
		return content
	}
	return s.documents[k]
}

// Count returns how many requests of a type have come.
func (s *Server) Count(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[kind]
}

// count counts a request.
func (s *Server) count(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[kind]++
}

// tagger gives every connection a number: addresses do not tell those in memory apart.
type tagger struct{ server *Server }

type connKey struct{}

// TagConn numbers a connection.
func (t tagger) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connKey{}, t.server.connected())
}

// HandleConn forgets a connection that has ended.
func (t tagger) HandleConn(ctx context.Context, s stats.ConnStats) {
	if _, ended := s.(*stats.ConnEnd); ended {
		t.server.forget(numberOf(ctx))
	}
}

// TagRPC does nothing.
func (tagger) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC does nothing.
func (tagger) HandleRPC(context.Context, stats.RPCStats) {}

func numberOf(ctx context.Context) uint64 {
	n, _ := ctx.Value(connKey{}).(uint64)
	return n
}

// id names a connection as the server's answers do.
func id(number uint64) string { return fmt.Sprintf("%d_fake", number) }

// Kind returns what the publisher said that the document is.
func (s *Server) Kind(k Key) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds[k]
}
