package nacos

import (
	"encoding/json"
	"fmt"

	auto "github.com/nacos-group/nacos-sdk-go/v2/api/grpc"
	"github.com/nacos-group/nacos-sdk-go/v2/common/constant"
	"github.com/nacos-group/nacos-sdk-go/v2/common/remote/rpc/rpc_request"
	"github.com/nacos-group/nacos-sdk-go/v2/common/remote/rpc/rpc_response"
	"google.golang.org/protobuf/types/known/anypb"
)

// Codes of answers.
const (
	codeSuccess      = int(rpc_response.ResponseSuccessCode)
	codeAbsent       = 300 // to a query: there is no such document
	codeUnregistered = constant.UN_REGISTER
	codeChanging     = 400 // to a query: somebody is changing the document right now
	codeUnauthorized = 401
	codeForbidden    = 403
)

// A changeNotifyResponse acknowledges a notice of a change, which the server repeats otherwise.
type changeNotifyResponse struct{ *rpc_response.Response }

// GetResponseType returns the message's name.
func (changeNotifyResponse) GetResponseType() string { return "ConfigChangeNotifyResponse" }

// requestPayload packs a request.
func requestPayload(req rpc_request.IRequest, localIP string) (*auto.Payload, error) {
	return payload(req.GetRequestType(), req.GetHeaders(), localIP, req)
}

// responsePayload packs the answer to a request of the server.
func responsePayload(resp rpc_response.IResponse, requestID, localIP string) (*auto.Payload, error) {
	resp.SetRequestId(requestID)
	return payload(resp.GetResponseType(), nil, localIP, resp)
}

func payload(kind string, headers map[string]string, localIP string, message any) (*auto.Payload, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	return &auto.Payload{
		Metadata: &auto.Metadata{Type: kind, Headers: headers, ClientIp: localIP},
		Body:     &anypb.Any{Value: body},
	}, nil
}

// unpack reads an answer, of the type asked for or the one for errors. The error is what the server says is wrong.
func unpack(p *auto.Payload, into rpc_response.IResponse, server string) error {
	if err := json.Unmarshal(p.GetBody().GetValue(), into); err != nil {
		return fmt.Errorf("%s: answer %s cannot be read: %w", server, p.GetMetadata().GetType(), err)
	}
	if kind := p.GetMetadata().GetType(); kind != into.GetResponseType() && into.IsSuccess() {
		return fmt.Errorf("%s: answered with %s; want %s", server, kind, into.GetResponseType())
	}
	if into.IsSuccess() || into.GetErrorCode() == 0 && into.GetResultCode() == codeSuccess {
		return nil
	}
	code := into.GetErrorCode()
	if code == 0 {
		code = into.GetResultCode()
	}
	return &answerError{server: server, code: code, message: into.GetMessage()}
}
