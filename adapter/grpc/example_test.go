package cordongrpc_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/adapter/grpc/testdata/shop"
	"github.com/cordon-go/cordon/extractor/protobuf"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// serve starts a shop, for the examples. It returns its address and what stops it.
func serve(opts ...grpc.ServerOption) (address string, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	srv := grpc.NewServer(opts...)
	shop.RegisterShopServer(srv, newServer())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // it ends with Stop
	}()
	return l.Addr().String(), func() {
		srv.Stop()
		<-done
	}
}

// dial connects to it.
func dial(address string, opts ...grpc.DialOption) (shop.ShopClient, func()) {
	conn, err := grpc.NewClient(address, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		log.Fatal(err)
	}
	return shop.NewShopClient(conn), func() { _ = conn.Close() }
}

// A server that limits what each customer buys, by a field of the request. The client knows nothing of cordon: it sees a status with details.
func ExampleServerOptions() {
	eng, err := cordon.New(cordon.WithWalker(protobuf.Walker()), cordon.WithRules(cordon.Rules{
		Param: []paramflow.Rule{{ID: "per-customer", Resource: rule.Name(shop.Shop_Buy_FullMethodName), Param: "arg[0].customer.id", Limit: 2, Per: day}},
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	address, stop := serve(cordongrpc.ServerOptions(eng)...)
	defer stop()
	client, hangUp := dial(address)
	defer hangUp()

	for i := range 3 {
		_, err := client.Buy(context.Background(), &shop.Order{Customer: &shop.Customer{Id: 102}})
		st := status.Convert(err)
		fmt.Println("order", i+1, st.Code())
		for _, d := range st.Details() {
			if info, ok := d.(interface{ GetReason() string }); ok {
				fmt.Println(info.GetReason())
			}
		}
	}
	_, err = client.Buy(context.Background(), &shop.Order{Customer: &shop.Customer{Id: 103}})
	fmt.Println("another customer:", status.Code(err))
	// Output:
	// order 1 OK
	// order 2 OK
	// order 3 ResourceExhausted
	// PARAMETER_LIMITED
	// another customer: OK
}

// What a client that knows cordon reads in a refusal, and that it is none of the reasons to think the server ill.
func ExampleFromStatus() {
	there, err := cordon.New(cordon.WithRules(cordon.Rules{
		Flow: []flow.Rule{{ID: "no-sale", Resource: rule.Name(shop.Shop_Buy_FullMethodName), Limit: 0}},
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer there.Close()
	address, stop := serve(cordongrpc.ServerOptions(there)...)
	defer stop()
	here, err := cordon.New()
	if err != nil {
		log.Fatal(err)
	}
	defer here.Close()
	client, hangUp := dial(address, cordongrpc.DialOptions(here)...)
	defer hangUp()

	var trailer metadata.MD
	_, err = client.Buy(context.Background(), &shop.Order{}, grpc.Trailer(&trailer))
	if ref, ok := cordongrpc.FromStatus(err); ok {
		fmt.Println(ref.Code, ref.Kind, ref.RuleID, ref.Resource)
		fmt.Println("worth trying again:", ref.RetryAfter >= 0)
	}
	fmt.Println(trailer.Get("grpc-retry-pushback-ms"))
	r, _ := here.ResourceSnapshot(shop.Shop_Buy_FullMethodName)
	fmt.Println("failed:", r.Failed, "ignored:", r.Ignored)
	// Output:
	// ResourceExhausted flow no-sale /cordon.test.shop.Shop/Buy
	// worth trying again: false
	// [-1]
	// failed: 0 ignored: 1
}

// Calls that a rule on rates refuses are refused before their message is read.
func ExampleTapHandle() {
	eng, err := cordon.New()
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	address, stop := serve(append(cordongrpc.ServerOptions(eng), grpc.InTapHandle(cordongrpc.TapHandle(eng)))...)
	defer stop()
	client, hangUp := dial(address)
	defer hangUp()
	_, err = client.Buy(context.Background(), &shop.Order{})
	fmt.Println(err)
	// Output: <nil>
}
