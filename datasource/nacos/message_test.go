package nacos

import (
	"testing"

	auto "github.com/nacos-group/nacos-sdk-go/v2/api/grpc"
	"github.com/nacos-group/nacos-sdk-go/v2/common/remote/rpc/rpc_response"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/anypb"
)

func answer(kind, body string) *auto.Payload {
	return &auto.Payload{Metadata: &auto.Metadata{Type: kind}, Body: &anypb.Any{Value: []byte(body)}}
}

func TestUnpack(t *testing.T) {
	for _, test := range []struct {
		payload *auto.Payload
		wrong   string
		code    int
	}{
		{answer("ConfigQueryResponse", `{"success":true,"resultCode":200,"content":"x"}`), "", 0},
		{answer("ConfigQueryResponse", `{"resultCode":200,"content":"x"}`), "", 0},
		{answer("ConfigQueryResponse", `{"success":false,"errorCode":300,"resultCode":500}`), "a: refused, code 300", 300},
		{answer("ErrorResponse", `{"success":false,"errorCode":403,"resultCode":500,"message":"no"}`), "a: refused, code 403: no", 403},
		{answer("ErrorResponse", `{"resultCode":500,"message":"no"}`), "a: refused, code 500: no", 500},
		{answer("ErrorResponse", `{}`), "a: refused, code 0", 0},
		{answer("HealthCheckResponse", `{"success":true}`), "a: answered with HealthCheckResponse; want ConfigQueryResponse", 0},
		{answer("ConfigQueryResponse", `{"content":7}`), "a: answer ConfigQueryResponse cannot be read: json:", 0},
		{answer("ConfigQueryResponse", ``), "cannot be read: unexpected end", 0},
		{&auto.Payload{}, "a: answer  cannot be read", 0},
		{nil, "a: answer  cannot be read", 0},
	} {
		into := &rpc_response.ConfigQueryResponse{Response: &rpc_response.Response{}}
		err := unpack(test.payload, into, "a")
		if test.wrong == "" {
			require.NoError(t, err)
			require.Equal(t, "x", into.Content)
			continue
		}
		require.ErrorContains(t, err, test.wrong)
		if test.code != 0 {
			var refusal *answerError
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, test.code, refusal.code)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add("ConfigQueryResponse", []byte(`{"success":true,"content":"x","md5":"y"}`))
	f.Add("ErrorResponse", []byte(`{"errorCode":403,"message":"no"}`))
	f.Add("ErrorResponse", []byte(`{"Response":null}`))
	f.Add("", []byte(`null`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		into := &rpc_response.ConfigQueryResponse{Response: &rpc_response.Response{}}
		if err := unpack(answer(kind, string(body)), into, "a"); err == nil {
			require.True(t, into.IsSuccess() || into.GetResultCode() == codeSuccess)
		}
	})
}

// What the server says unasked can be anything.
func FuzzHandle(f *testing.F) {
	f.Add("ConfigChangeNotifyRequest", []byte(`{"dataId":"x","group":"G","requestId":"1"}`))
	f.Add("ConfigChangeNotifyRequest", []byte(`null`))
	f.Add("ClientDetectionRequest", []byte(`{"requestId":"1"}`))
	f.Add("ConnectResetRequest", []byte(`{"serverIp":"10.0.0.1","serverPort":"8848"}`))
	f.Add("ConnectResetRequest", []byte(`{"serverIp":1}`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		var noticed []key
		said := &silentStream{}
		c := &conn{dialer: &dialer{noticed: func(k key) { noticed = append(noticed, k) }}, stream: said, lost: make(chan struct{})}
		c.handle(answer(kind, string(body)))
		require.LessOrEqual(t, len(noticed), 1)
		require.LessOrEqual(t, said.sent, 1)
		if c.why() != nil {
			require.Equal(t, "ConnectResetRequest", kind)
		}
	})
}

// A silentStream takes what is sent.
type silentStream struct {
	auto.BiRequestStream_RequestBiStreamClient
	sent int
}

func (s *silentStream) Send(*auto.Payload) error {
	s.sent++
	return nil
}
