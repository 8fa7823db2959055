package fakenacos

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	auto "github.com/nacos-group/nacos-sdk-go/v2/api/grpc"
	"google.golang.org/protobuf/types/known/anypb"
)

// A client is one connection.
type client struct {
	number uint64
	// end is closed to end the connection's stream.
	end chan struct{}

	mu     sync.Mutex // guards all below
	stream auto.BiRequestStream_RequestBiStreamServer
	setup  Setup
	listen map[Key]bool
	acks   []string // types of answers
}

// Setup is how a client introduced itself: ClientVersion, the Tenant that is its namespace, and Labels.
type Setup struct {
	ClientVersion string            `json:"clientVersion"`
	Tenant        string            `json:"tenant"`
	Labels        map[string]string `json:"labels"`
}

type message = map[string]any

// connected adds a connection and returns its number.
func (s *Server) connected() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest++
	s.clients[s.newest] = &client{number: s.newest, end: make(chan struct{}), listen: map[Key]bool{}}
	return s.newest
}

func (s *Server) forget(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, number)
}

func (s *Server) client(number uint64) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients[number]
}

// all returns all connections, oldest first.
func (s *Server) all() []*client {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*client
	for _, c := range s.clients {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *client) int { return int(a.number) - int(b.number) })
	return all
}

// Connections returns how many connections there are.
func (s *Server) Connections() int { return len(s.all()) }

// Setups returns how the connections introduced themselves.
func (s *Server) Setups() []Setup {
	var setups []Setup
	for _, c := range s.all() {
		c.mu.Lock()
		if c.stream != nil {
			setups = append(setups, c.setup)
		}
		c.mu.Unlock()
	}
	return setups
}

// Listening returns how many connections have asked for notices of the document.
func (s *Server) Listening(k Key) int {
	n := 0
	for _, c := range s.all() {
		c.mu.Lock()
		if c.listen[k] {
			n++
		}
		c.mu.Unlock()
	}
	return n
}

// Acks returns the types of the answers that clients have given.
func (s *Server) Acks() []string {
	var acks []string
	for _, c := range s.all() {
		c.mu.Lock()
		acks = append(acks, c.acks...)
		c.mu.Unlock()
	}
	return acks
}

// Drop ends all connections' streams; the server stays.
func (s *Server) Drop() {
	for _, c := range s.all() {
		c.mu.Lock()
		select {
		case <-c.end:
		default:
			close(c.end)
		}
		c.mu.Unlock()
	}
}

// Notify gives notice of a document.
func (s *Server) Notify(k Key) {
	for _, c := range s.all() {
		c.notify(s.next(), k)
	}
}

// Reset asks all connections to connect anew, to the server at that address if host is not "".
func (s *Server) Reset(host, port string) {
	s.push("ConnectResetRequest", message{"serverIp": host, "serverPort": port, "module": "internal"})
}

// Detect asks all connections whether they are still there.
func (s *Server) Detect() { s.push("ClientDetectionRequest", message{"module": "internal"}) }

// Push sends all connections a message.
func (s *Server) Push(kind, body string) {
	for _, c := range s.all() {
		c.send(&auto.Payload{Metadata: &auto.Metadata{Type: kind}, Body: &anypb.Any{Value: []byte(body)}})
	}
}

func (s *Server) push(kind string, m message) {
	for _, c := range s.all() {
		m["requestId"] = s.next()
		c.send(payload(kind, m))
	}
}

// next returns an id for a request of the server.
func (s *Server) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest++
	return fmt.Sprint(s.newest)
}

func (c *client) notify(requestID string, k Key) {
	c.mu.Lock()
	listening := c.listen[k]
	c.mu.Unlock()
	if listening {
		c.send(payload("ConfigChangeNotifyRequest", message{
			"requestId": requestID, "module": "config", "dataId": k.DataID, "group": k.Group, "tenant": k.Namespace,
		}))
	}
}

// send sends a message on the stream, if there is one.
func (c *client) send(p *auto.Payload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream != nil {
		_ = c.stream.Send(p)
	}
}

func payload(kind string, m message) *auto.Payload {
	body, err := json.Marshal(m)
	if err != nil {
		body = []byte(err.Error())
	}
	return &auto.Payload{Metadata: &auto.Metadata{Type: kind}, Body: &anypb.Any{Value: body}}
}

// RequestBiStream takes what a client says first, and its answers.
func (s *Server) RequestBiStream(stream auto.BiRequestStream_RequestBiStreamServer) error {
	c := s.client(numberOf(stream.Context()))
	if c == nil {
		return nil
	}
	received := make(chan struct{})
	go func() {
		defer close(received)
		for {
			p, err := stream.Recv()
			if err != nil {
				return
			}
			c.take(p, stream)
		}
	}()
	select {
	case <-received:
	case <-c.end:
	}
	c.mu.Lock()
	c.stream = nil
	c.mu.Unlock()
	return nil
}

// take takes what a client says on the stream.
func (c *client) take(p *auto.Payload, stream auto.BiRequestStream_RequestBiStreamServer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.GetMetadata().GetType() != "ConnectionSetupRequest" {
		c.acks = append(c.acks, p.GetMetadata().GetType())
		return
	}
	if json.Unmarshal(p.GetBody().GetValue(), &c.setup) == nil {
		c.stream = stream
	}
}
