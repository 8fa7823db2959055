package guard

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
)

// What users write compiles, and a server and a client take it.
func TestUsersCode(t *testing.T) {
	eng, err := cordon.New()
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	var handle tap.ServerInHandle = cordongrpc.TapHandle(eng)
	grpc.NewServer(append(cordongrpc.ServerOptions(eng), grpc.InTapHandle(handle))...).Stop()
	var (
		_ grpc.UnaryServerInterceptor  = cordongrpc.UnaryServerInterceptor(eng)
		_ grpc.StreamServerInterceptor = cordongrpc.StreamServerInterceptor(eng)
		_ grpc.UnaryClientInterceptor  = cordongrpc.UnaryClientInterceptor(eng)
		_ grpc.StreamClientInterceptor = cordongrpc.StreamClientInterceptor(eng)
		_ []grpc.DialOption            = cordongrpc.DialOptions(eng)
	)
}
