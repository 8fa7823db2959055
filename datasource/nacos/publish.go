package nacos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nacos-group/nacos-sdk-go/v2/common/remote/rpc/rpc_request"
	"github.com/nacos-group/nacos-sdk-go/v2/common/remote/rpc/rpc_response"
)

// settle is after which time a server that answered with an older content no longer does.
const settle = time.Second

// confirmPause is how long to wait before asking again whether what was created is there.
const confirmPause = 50 * time.Millisecond

// noContent is the MD5 that no content has: servers that compare refuse to replace whatever is there.
const noContent = "00000000000000000000000000000000"

// casRefusal is how a server's refusal begins because the MD5 is another.
const casRefusal = "cas publish fail"

// A PublishOption adjusts one Publish.
type PublishOption interface{ applyPublish(*publishing) }

type publishOptionFunc func(*publishing)

func (f publishOptionFunc) applyPublish(p *publishing) { f(p) }

// publishing is one call of Publish.
type publishing struct {
	key       key
	data      []byte
	guarded   bool
	want      string
	validates []func([]byte) error
	kind      string
}

// IfMD5 publishes only over the content that has this MD5 (Content.MD5), and with "" only if there is no document; otherwise the error is
// a *ConflictError. The server compares and stores in one step. Of several that create a document at once, though, it tells each that it has, and stores one: so Publish
// waits until the server answers with what was created, some tenths of a second, and another content instead is a conflict too, were it only that somebody has changed it by then. (Some servers of others do not: over them, only what was there when Publish looked is safe.)
func IfMD5(md5 string) PublishOption {
	return publishOptionFunc(func(p *publishing) { p.guarded, p.want = true, strings.ToLower(md5) })
}

// Validate has f look at the data before anything is sent; its error is that of Publish. Of several, each must agree. For rules f is cordon.Validate of the decoder that will read them; a
// decoder's error alone says nothing of what is wrong with single rules.
func Validate(f func(data []byte) error) PublishOption {
	return publishOptionFunc(func(p *publishing) {
		if f != nil {
			p.validates = append(p.validates, f)
		}
	})
}

// ContentType says what the data is, for the server's console: yaml, json, text, properties, xml, html or toml. Default: json if it is that, else yaml.
func ContentType(t string) PublishOption {
	return publishOptionFunc(func(p *publishing) { p.kind = t })
}

// Publish stores a document. Data that is empty, or is no UTF-8, is refused before anything is sent, as is what Validate does not agree to. An
// error that is no refusal (the connection was lost, no answer came) leaves open whether the document was stored: read it. It is never sent twice.
func (c *Client) Publish(ctx context.Context, group, dataID string, data []byte, opts ...PublishOption) error {
	p := &publishing{key: key{group, dataID}, data: data}
	for _, o := range opts {
		if o != nil {
			o.applyPublish(p)
		}
	}
	if err := p.check(); err != nil {
		return c.in(p.key, err)
	}
	ctx, conn, done, err := c.begin(ctx, p.key)
	if err != nil {
		return err
	}
	defer done()
	if p.guarded {
		if err := c.compare(ctx, conn, p); err != nil {
			return c.in(p.key, err)
		}
	}
	if err := c.store(ctx, conn, p); err != nil {
		return c.in(p.key, err)
	}
	if p.guarded && p.want == "" {
		if err := c.confirm(ctx, conn, p); err != nil {
			return c.in(p.key, err)
		}
	}
	return nil
}

// confirm looks whether what was created is there, and not what somebody else has created at the same moment: servers compare what they replace, not what they add. Only a reading that says so is
// a conflict: without one the document is stored, as the server has said.
func (c *Client) confirm(ctx context.Context, conn *conn, p *publishing) error {
	ours := sum(string(p.data))
	for end := c.now() + settle; c.now() < end; {
		have, err := c.query(ctx, conn, p.key)
		switch {
		case err != nil || have.md5 == ours:
			return nil
		case have.md5 != "":
			return p.conflict(have.md5)
		}
		if conn.pause(ctx, confirmPause) != nil {
			return nil
		}
	}
	return nil
}

// check looks at what is to be published.
func (p *publishing) check() error {
	trimmed := bytes.TrimSpace(p.data)
	if len(trimmed) == 0 {
		return errors.New("publish: there is nothing in the data; want a document, or Delete")
	}
	if !utf8.Valid(p.data) {
		return errors.New("publish: the data is no UTF-8, which is all that the server keeps unchanged")
	}
	for _, f := range p.validates {
		if err := f(p.data); err != nil {
			return fmt.Errorf("publish: the document was refused, nothing was sent: %w", err)
		}
	}
	if p.kind == "" {
		p.kind = "yaml"
		if (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed) {
			p.kind = "json"
		}
	}
	return nil
}

// compare looks whether there is what is to be replaced. Where there is not, it looks again a while later: the server may have answered with what
// was there before.
func (c *Client) compare(ctx context.Context, conn *conn, p *publishing) error {
	have, err := c.query(ctx, conn, p.key)
	if err == nil && have.md5 != p.want {
		if err := conn.pause(ctx, settle); err != nil {
			return err
		}
		have, err = c.query(ctx, conn, p.key)
	}
	switch {
	case err != nil:
		return fmt.Errorf("publish: %w", err)
	case have.md5 != p.want:
		return p.conflict(have.md5)
	}
	return nil
}

func (p *publishing) conflict(have string) error {
	return &ConflictError{Group: p.key.group, DataID: p.key.dataID, Want: p.want, Have: have}
}

// store sends the document.
func (c *Client) store(ctx context.Context, conn *conn, p *publishing) error {
	expected := ""
	if p.guarded {
		expected = p.want
		if expected == "" {
			expected = noContent
		}
	}
	req := rpc_request.NewConfigPublishRequest(p.key.group, p.key.dataID, c.config.Namespace, string(p.data), expected)
	req.AdditionMap["type"] = p.kind
	_, err := request(ctx, c, conn, req, func() *rpc_response.ConfigPublishResponse {
		return &rpc_response.ConfigPublishResponse{Response: &rpc_response.Response{}}
	})
	if refusal, ok := errors.AsType[*answerError](err); ok && p.guarded && strings.HasPrefix(strings.ToLower(refusal.message), casRefusal) {
		return c.lateConflict(ctx, conn, p)
	}
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// lateConflict returns the conflict with what came between compare and store.
func (c *Client) lateConflict(ctx context.Context, conn *conn, p *publishing) error {
	if err := conn.pause(ctx, settle); err != nil {
		return err
	}
	have, err := c.query(ctx, conn, p.key)
	if err != nil {
		return also(p.conflict("unknown"), err)
	}
	return p.conflict(have.md5)
}

// Delete removes a document. That there is none is no error.
func (c *Client) Delete(ctx context.Context, group, dataID string) error {
	k := key{group, dataID}
	ctx, conn, done, err := c.begin(ctx, k)
	if err != nil {
		return err
	}
	defer done()
	req := rpc_request.NewConfigRemoveRequest(group, dataID, c.config.Namespace)
	_, err = request(ctx, c, conn, req, func() *rpc_response.ConfigRemoveResponse {
		return &rpc_response.ConfigRemoveResponse{Response: &rpc_response.Response{}}
	})
	if err != nil {
		return c.in(k, fmt.Errorf("delete: %w", err))
	}
	return nil
}
