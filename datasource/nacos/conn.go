package nacos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	auto "github.com/nacos-group/nacos-sdk-go/v2/api/grpc"
	"github.com/nacos-group/nacos-sdk-go/v2/common/constant"
	"github.com/nacos-group/nacos-sdk-go/v2/common/remote/rpc/rpc_request"
	"github.com/nacos-group/nacos-sdk-go/v2/common/remote/rpc/rpc_response"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon/clock"
)

const (
	// maxMessage is the largest answer taken.
	maxMessage = 64 << 20
	// registerPause is how long to wait before asking again whether the server knows a new connection by now.
	registerPause = 10 * time.Millisecond
)

var (
	errEnded = errors.New("the server ended the connection")
	errReset = errors.New("the server asked to connect anew")
	// errForgotten is what a server means that calls the connection unregistered.
	errForgotten = errors.New("the server does not know the connection any more")
)

// A dialer makes the connections of a client.
type dialer struct {
	namespace string
	timeout   time.Duration
	// largest is how many bytes an answer may have.
	largest int
	clock   clock.Clock
	certs   *certificates
	// network opens the sockets.
	network func(ctx context.Context, address string) (net.Conn, error)
	// noticed is called with every notice of a change.
	noticed func(key)
	// oldCerts is called with the reason for which older certificates are used than those in the files.
	oldCerts func(error)
}

// A conn is one connection to one server. Its methods are safe for concurrent use.
type conn struct {
	dialer   *dialer
	server   server
	cc       *grpc.ClientConn
	requests auto.RequestClient

	// stream carries what the server says unasked. Only dial sends on it, and then the receiving goroutine. cancel ends it.
	stream    auto.BiRequestStream_RequestBiStreamClient
	cancel    context.CancelFunc
	receiving sync.WaitGroup

	lost chan struct{} // closed once lostErr is set
	mu   sync.Mutex    // guards all below
	// localIP is where the newest socket is bound: servers can release documents to some addresses first.
	localIP string
	// openErr is why there is no socket.
	openErr error
	// lostErr is why the connection is of no use any more. advice is the server that we are to use instead, if any: host, and port of HTTP.
	lostErr error
	advice  [2]string
}

// dial connects to one server and makes it know the connection, which takes no longer than the timeout.
func (d *dialer) dial(ctx context.Context, s server) (*conn, error) {
	ctx, stop := within(ctx, d.clock, d.timeout)
	defer stop()
	c := &conn{dialer: d, server: s, lost: make(chan struct{})}
	var err error
	// The address is looked up by the network for every socket; gRPC must not look for settings or proxies besides.
	c.cc, err = grpc.NewClient("passthrough:///"+s.grpc,
		grpc.WithTransportCredentials(d.credentials(s)),
		grpc.WithContextDialer(c.open),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(d.largest)),
		grpc.WithDisableServiceConfig(),
		grpc.WithUserAgent(constant.CLIENT_VERSION),
	)
	if err != nil {
		return nil, &lostError{s.name, err}
	}
	c.requests = auto.NewRequestClient(c.cc)
	if err := c.introduce(ctx); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// credentials returns how gRPC is secured.
func (d *dialer) credentials(s server) credentials.TransportCredentials {
	if !s.secure {
		return insecure.NewCredentials()
	}
	config, err := d.certs.config()
	if err != nil {
		d.oldCerts(err)
	}
	return credentials.NewTLS(config)
}

// open opens a socket.
func (c *conn) open(ctx context.Context, address string) (net.Conn, error) {
	socket, err := c.dialer.network(ctx, address)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.openErr = err
	if err != nil {
		return nil, err
	}
	if host, _, err := net.SplitHostPort(socket.LocalAddr().String()); err == nil {
		c.localIP = host
	}
	return socket, nil
}

// introduce begins the stream and waits until the server knows the connection: it refuses requests before.
func (c *conn) introduce(ctx context.Context) error {
	if err := c.call(ctx, rpc_request.NewServerCheckRequest(), &rpc_response.ServerCheckResponse{Response: &rpc_response.Response{}}); err != nil {
		return err
	}
	streaming, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	defer context.AfterFunc(ctx, cancel)()
	var err error
	if c.stream, err = auto.NewBiRequestStreamClient(c.cc).RequestBiStream(streaming); err != nil {
		return c.fault(ctx, err)
	}
	setup := rpc_request.NewConnectionSetupRequest()
	setup.ClientVersion = constant.CLIENT_VERSION
	setup.Tenant = c.dialer.namespace
	setup.Labels = map[string]string{constant.LABEL_SOURCE: constant.LABEL_SOURCE_SDK, constant.LABEL_MODULE: constant.LABEL_MODULE_CONFIG}
	hello, err := requestPayload(setup, c.ip())
	if err != nil {
		return err
	}
	c.receiving.Go(c.receive)
	if err := c.stream.Send(hello); err != nil && !errors.Is(err, io.EOF) { // after io.EOF the receiver learns what is wrong
		return c.fault(ctx, err)
	}
	for {
		err := c.checkHealth(ctx)
		if answer, ok := errors.AsType[*answerError](err); !ok || answer.code != codeUnregistered {
			return err
		}
		if err := c.pause(ctx, registerPause); err != nil {
			return err
		}
	}
}

// pause waits for d. The error says why that was in vain.
func (c *conn) pause(ctx context.Context, d time.Duration) error {
	timer := c.dialer.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-c.lost:
		return c.why()
	case <-ctx.Done():
		return c.fault(ctx, ctx.Err())
	}
}

// checkHealth asks whether the server is there and knows the connection.
func (c *conn) checkHealth(ctx context.Context) error {
	return c.call(ctx, rpc_request.NewHealthCheckRequest(), &rpc_response.HealthCheckResponse{Response: &rpc_response.Response{}})
}

// call sends one request and reads the answer: an answerError if the server says no, a lostError if the connection is of no use any more.
func (c *conn) call(ctx context.Context, req rpc_request.IRequest, into rpc_response.IResponse) error {
	request, err := requestPayload(req, c.ip())
	if err != nil {
		return err
	}
	response, err := c.requests.Request(ctx, request)
	if err != nil {
		return c.fault(ctx, err)
	}
	return unpack(response, into, c.server.name)
}

// fault says what an error of gRPC means.
func (c *conn) fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", c.server.name, context.Cause(ctx))
	}
	if open := c.openFault(); open != nil {
		return &lostError{c.server.name, open}
	}
	s := status.Convert(err)
	if s.Code() == codes.Unavailable || s.Code() == codes.Canceled {
		return &lostError{c.server.name, errors.New(s.Message())}
	}
	return fmt.Errorf("%s: %s", c.server.name, s.Message())
}

// receive takes what the server says unasked, until the stream ends.
func (c *conn) receive() {
	for {
		p, err := c.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			c.lose(errEnded, "", "")
			return
		case err != nil:
			c.lose(errors.New(status.Convert(err).Message()), "", "")
			return
		}
		c.handle(p)
	}
}

// handle does what the server asks for. What is not known is left alone, as is what cannot be read.
func (c *conn) handle(p *auto.Payload) {
	body := p.GetBody().GetValue()
	done := &rpc_response.Response{ResultCode: codeSuccess, Success: true}
	switch p.GetMetadata().GetType() {
	case constant.CONFIG_CHANGE_NOTIFY_REQUEST_NAME:
		notice := rpc_request.NewConfigChangeNotifyRequest("", "", "")
		if json.Unmarshal(body, notice) == nil {
			c.dialer.noticed(key{notice.Group, notice.DataId})
			c.answer(changeNotifyResponse{done}, notice.RequestId)
		}
	case "ClientDetectionRequest":
		detection := &rpc_request.ClientDetectionRequest{InternalRequest: rpc_request.NewInternalRequest()}
		if json.Unmarshal(body, detection) == nil {
			c.answer(&rpc_response.ClientDetectionResponse{Response: done}, detection.RequestId)
		}
	case "ConnectResetRequest":
		reset := &rpc_request.ConnectResetRequest{InternalRequest: rpc_request.NewInternalRequest()}
		if json.Unmarshal(body, reset) == nil {
			c.answer(&rpc_response.ConnectResetResponse{Response: done}, reset.RequestId)
			c.lose(errReset, reset.ServerIp, reset.ServerPort)
		}
	}
}

// answer answers what the server asked. If it cannot be sent, the stream is about to end.
func (c *conn) answer(resp rpc_response.IResponse, requestID string) {
	if p, err := responsePayload(resp, requestID, c.ip()); err == nil {
		_ = c.stream.Send(p)
	}
}

// lose makes the connection one that is of no use any more.
func (c *conn) lose(err error, host, port string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lostErr == nil {
		c.lostErr, c.advice = &lostError{c.server.name, err}, [2]string{host, port}
		close(c.lost)
	}
}

// why returns why the connection is lost, nil if it is not.
func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lostErr
}

// advised returns the server to use instead, "" for any.
func (c *conn) advised() (host, port string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.advice[0], c.advice[1]
}

func (c *conn) ip() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.localIP
}

func (c *conn) openFault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.openErr
}

// close ends the connection and waits for it.
func (c *conn) close() {
	if c.cancel != nil {
		c.cancel()
	}
	_ = c.cc.Close()
	c.receiving.Wait()
}
