package nacos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nacos-group/nacos-sdk-go/v2/common/constant"
	"github.com/nacos-group/nacos-sdk-go/v2/common/remote/rpc/rpc_request"
	"github.com/nacos-group/nacos-sdk-go/v2/common/remote/rpc/rpc_response"

	"github.com/cordon-go/cordon/datasource"
)

// changingPause is how long to wait before reading again what somebody is changing, changingTries how often to try.
const (
	changingPause = 20 * time.Millisecond
	changingTries = 5
)

// request sends one request with the token that it needs, and once more with another token if that is refused.
func request[T rpc_response.IResponse](ctx context.Context, c *Client, conn *conn, req rpc_request.IRequest, empty func() T) (T, error) {
	token, err := c.login.current(ctx, conn.server)
	if err != nil {
		return empty(), err
	}
	answer, err := requestWith(ctx, c, conn, req, token, empty)
	if errors.Is(err, ErrForbidden) {
		other, loginErr := c.login.another(ctx, conn.server, token)
		switch {
		case loginErr != nil:
			return answer, also(err, loginErr)
		case other != token:
			answer, err = requestWith(ctx, c, conn, req, other, empty)
		}
	}
	if refusal, ok := errors.AsType[*answerError](err); ok && refusal.code == codeUnregistered {
		conn.lose(errForgotten, "", "")
		return answer, conn.why()
	}
	return answer, err
}

// requestWith sends one request with a token.
func requestWith[T rpc_response.IResponse](ctx context.Context, c *Client, conn *conn, req rpc_request.IRequest, token string, empty func() T) (T, error) {
	ctx, stop := within(ctx, c.config.Clock, c.config.Timeout)
	defer stop()
	headers := map[string]string{constant.CHARSET_KEY: "utf-8", constant.EX_CONFIG_INFO: "true"}
	if token != "" {
		headers[constant.KEY_ACCESS_TOKEN] = token
	}
	req.PutAllHeaders(headers)
	answer := empty()
	return answer, conn.call(ctx, req, answer)
}

// query reads a document from the server.
func (c *Client) query(ctx context.Context, conn *conn, k key) (reading, error) {
	req := rpc_request.NewConfigQueryRequest(k.group, k.dataID, c.config.Namespace)
	for try := 1; ; try++ {
		answer, err := request(ctx, c, conn, req, func() *rpc_response.ConfigQueryResponse {
			return &rpc_response.ConfigQueryResponse{Response: &rpc_response.Response{}}
		})
		refusal, refused := errors.AsType[*answerError](err)
		switch {
		case refused && refusal.code == codeAbsent:
			return reading{}, nil
		case refused && refusal.code == codeChanging && try < changingTries:
			if err := conn.pause(ctx, changingPause); err != nil {
				return reading{}, err
			}
			continue
		case err != nil:
			return reading{}, fmt.Errorf("read: %w", err)
		}
		r := reading{data: []byte(answer.Content), md5: answer.Md5}
		if r.md5 == "" || answer.Content == "" {
			r.md5 = sum(answer.Content)
		}
		if answer.LastModified > 0 {
			r.modified = time.UnixMilli(answer.LastModified)
		}
		return r, nil
	}
}

// connected returns the connection, which it waits for: the worker's next attempt to make one, and no longer than the timeout.
func (c *Client) connected(ctx context.Context) (*conn, error) {
	ctx, stop := within(ctx, c.config.Clock, c.config.Timeout)
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.start(); err != nil {
		return nil, err
	}
	before := c.attempts
	for {
		switch {
		case c.ctx.Err() != nil:
			return nil, ErrClosed
		case c.conn != nil && c.conn.why() == nil:
			return c.conn, nil
		case c.attempts > before:
			return nil, c.failure
		case ctx.Err() != nil:
			return nil, also(fmt.Errorf("no connection: %s: %w", c.names, context.Cause(ctx)), c.failure)
		}
		c.wanted = true
		c.raise()
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		case <-c.ctx.Done():
		}
		c.mu.Lock()
	}
}

// begin returns the connection for a call from outside and a context that ends with the client.
func (c *Client) begin(ctx context.Context, k key) (context.Context, *conn, func(), error) {
	if err := k.check(); err != nil {
		return nil, nil, nil, err
	}
	if ctx == nil {
		ctx = context.Background()
	}
	conn, err := c.connected(ctx)
	if err != nil {
		return nil, nil, nil, c.in(k, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	return ctx, conn, func() {
		stop()
		cancel(nil)
	}, nil
}

// in says which document an error is about.
func (c *Client) in(k key, err error) error {
	return fmt.Errorf("nacos %s/%v: %w", c.namespace(), k, err)
}

// Get reads a document from the server: never an older copy kept here. Right after a publish the server itself may for a moment
// answer with what was there before. The error wraps datasource.ErrAbsent if there is no document or nothing in it, and ErrForbidden, ErrClosed or
// the context's cause where they fit.
func (c *Client) Get(ctx context.Context, group, dataID string) (Content, error) {
	k := key{group, dataID}
	ctx, conn, done, err := c.begin(ctx, k)
	if err != nil {
		return Content{}, err
	}
	defer done()
	r, err := c.query(ctx, conn, k)
	if isLost(err) { // reading twice does no harm
		if conn, err = c.connected(ctx); err == nil {
			r, err = c.query(ctx, conn, k)
		}
	}
	if err != nil {
		return Content{}, c.in(k, err)
	}
	if r.md5 == "" {
		return Content{}, c.in(k, fmt.Errorf("%s: %w, or is empty", conn.server.name, datasource.ErrAbsent))
	}
	return Content{Data: r.data, MD5: r.md5}, nil
}
