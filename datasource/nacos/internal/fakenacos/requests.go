package fakenacos

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"strings"

	auto "github.com/nacos-group/nacos-sdk-go/v2/api/grpc"
)

// A request is what any request may have in it.
type request struct {
	DataID      string            `json:"dataId"`
	Group       string            `json:"group"`
	Tenant      string            `json:"tenant"`
	Content     string            `json:"content"`
	CasMD5      string            `json:"casMd5"`
	AdditionMap map[string]string `json:"additionMap"`
	Listen      bool              `json:"listen"`
	Contexts    []listened        `json:"configListenContexts"`
}

type listened struct {
	DataID string `json:"dataId"`
	Group  string `json:"group"`
	Tenant string `json:"tenant"`
	MD5    string `json:"md5"`
}

func (r request) key() Key { return Key{r.Tenant, r.Group, r.DataID} }

func success(more message) message {
	m := message{"resultCode": 200, "errorCode": 0, "success": true}
	for k, v := range more {
		m[k] = v
	}
	return m
}

func failure(code int, text string) message {
	return message{"resultCode": 500, "errorCode": code, "success": false, "message": text}
}

// Request answers a request.
func (s *Server) Request(ctx context.Context, p *auto.Payload) (*auto.Payload, error) {
	kind := p.GetMetadata().GetType()
	s.count(kind)
	for _, c := range s.wait(kind) {
		select {
		case <-c:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if s.Garbage.Load() {
		return &auto.Payload{Metadata: &auto.Metadata{Type: "Garbage"}}, nil
	}
	var r request
	if err := json.Unmarshal(p.GetBody().GetValue(), &r); err != nil {
		return payload("ErrorResponse", failure(500, err.Error())), nil
	}
	number := numberOf(ctx)
	if kind == "ServerCheckRequest" {
		if s.NotReady.Load() {
			return payload("ErrorResponse", failure(300, "server is starting, please try later")), nil
		}
		return payload("ServerCheckResponse", success(message{"connectionId": id(number)})), nil
	}
	c := s.client(number)
	if c == nil || !c.known() || takeOne(&s.SlowToKnow) {
		return payload("ErrorResponse", failure(301, "Connection is unregistered.")), nil
	}
	if kind == "HealthCheckRequest" {
		return payload("HealthCheckResponse", success(nil)), nil
	}
	if refusal := s.refuse(p); refusal != nil {
		return payload("ErrorResponse", refusal), nil
	}
	switch kind {
	case "ConfigQueryRequest":
		return payload("ConfigQueryResponse", s.query(r)), nil
	case "ConfigPublishRequest":
		return payload("ConfigPublishResponse", s.publish(r)), nil
	case "ConfigRemoveRequest":
		s.SetQuietly(r.key(), "")
		go s.Notify(r.key())
		return payload("ConfigRemoveResponse", success(nil)), nil
	case "ConfigBatchListenRequest":
		if s.ForbidListen.Load() {
			return payload("ErrorResponse", failure(403, "authorization failed!")), nil
		}
		return payload("ConfigChangeBatchListenResponse", s.batchListen(c, r)), nil
	}
	return payload("ErrorResponse", failure(302, "no handler of "+kind)), nil
}

// known reports whether the connection has introduced itself.
func (c *client) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stream != nil
}

// refuse returns why a request about documents is refused, nil if it is not.
func (s *Server) refuse(p *auto.Payload) message {
	if s.Forbid.Load() {
		return failure(403, "authorization failed!")
	}
	if why := s.badToken(p.GetMetadata().GetHeaders()["accessToken"]); why != "" {
		return failure(403, why)
	}
	return nil
}

func (s *Server) query(r request) message {
	if takeOne(&s.Changing) {
		return failure(400, "requested file is being modified, please try later.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	content := s.seen(r.key())
	if content == "" {
		return failure(300, "config data not exist")
	}
	return success(message{"content": content, "md5": sum(content), "contentType": "text", "lastModified": 1700000000000})
}

func (s *Server) publish(r request) message {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := r.key()
	stored := s.documents[k]
	if r.CasMD5 == strings.Repeat("0", 32) && stored != "" && s.BlindAdd.Load() {
		return success(nil)
	}
	if r.CasMD5 != "" && stored != "" && r.CasMD5 != sum(stored) && !s.NoCAS.Load() {
		return failure(500, "Cas publish fail, server md5 may have changed.")
	}
	s.documents[k] = r.Content
	s.kinds[k] = r.AdditionMap["type"]
	go s.Notify(k)
	return success(nil)
}

func (s *Server) batchListen(c *client, r request) message {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := []message{}
	for _, l := range r.Contexts {
		k := Key{l.Tenant, l.Group, l.DataID}
		if !r.Listen {
			delete(c.listen, k)
			continue
		}
		c.listen[k] = true
		if sum(s.seen(k)) != l.MD5 && !s.SameMD5.Load() {
			changed = append(changed, message{"dataId": l.DataID, "group": l.Group, "tenant": l.Tenant})
		}
	}
	return success(message{"changedConfigs": changed})
}

func sum(content string) string {
	if content == "" {
		return ""
	}
	digest := md5.Sum([]byte(content))
	return hex.EncodeToString(digest[:])
}
