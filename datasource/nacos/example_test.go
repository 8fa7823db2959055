package nacos_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/datasource/nacos/internal/fakenacos"
)

// startServer starts a server for an example. A real one is at 127.0.0.1:8848, say.
func startServer() *fakenacos.Server {
	server := fakenacos.New(fakenacos.Sockets, nil)
	if err := server.Start("127.0.0.1:0", "127.0.0.1:0"); err != nil {
		panic(err)
	}
	return server
}

func Example() {
	server := startServer()
	defer server.Stop()

	client, err := nacos.New(nacos.Config{Servers: []string{server.Address()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	ctx := context.Background()
	if err := client.Publish(ctx, nacos.DefaultGroup, "rules.yaml", []byte("limit: 10")); err != nil {
		fmt.Println(err)
		return
	}

	// The pump gives every new content of the document to this function.
	applied := make(chan string)
	pump := datasource.Start(ctx, client.Source("rules.yaml"), func(d datasource.Document) error {
		applied <- string(d.Data)
		return nil
	}, datasource.PumpOptions{})
	defer pump.Close()
	fmt.Println(pump.Health().Source)
	fmt.Println(<-applied)

	if err := client.Publish(ctx, nacos.DefaultGroup, "rules.yaml", []byte("limit: 20")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-applied)
	// Output:
	// nacos:public/DEFAULT_GROUP/rules.yaml
	// limit: 10
	// limit: 20
}

// Read, change and write, and notice if somebody else did in between.
func ExampleClient_Publish() {
	server := startServer()
	defer server.Stop()
	client, err := nacos.New(nacos.Config{Servers: []string{server.Address()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	ctx := context.Background()

	err = client.Publish(ctx, nacos.DefaultGroup, "rules.yaml", []byte("limit: 10"), nacos.IfMD5(""))
	fmt.Println("first:", err)
	read, err := client.Get(ctx, nacos.DefaultGroup, "rules.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := client.Publish(ctx, nacos.DefaultGroup, "rules.yaml", []byte("limit: 11")); err != nil { // somebody else
		fmt.Println(err)
		return
	}
	err = client.Publish(ctx, nacos.DefaultGroup, "rules.yaml", []byte("limit: 20"), nacos.IfMD5(read.MD5))
	fmt.Println("conflict:", errors.Is(err, nacos.ErrConflict))

	err = client.Publish(ctx, nacos.DefaultGroup, "rules.yaml", []byte("limit: -1"), nacos.Validate(func(data []byte) error {
		return errors.New("limit is -1; want 0 or more")
	}))
	fmt.Println(err)
	// Output:
	// first: <nil>
	// conflict: true
	// nacos public/DEFAULT_GROUP/rules.yaml: publish: the document was refused, nothing was sent: limit is -1; want 0 or more
}

func ExampleClient_Sentinel() {
	client, err := nacos.New(nacos.Config{Servers: []string{"127.0.0.1:8848"}, Namespace: "prod"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for _, d := range client.Sentinel("shop") {
		fmt.Println(d.Kind, d.Source.Name())
	}
	// Output:
	// flow nacos:prod/SENTINEL_GROUP/shop-flow-rules
	// breaker nacos:prod/SENTINEL_GROUP/shop-degrade-rules
	// param nacos:prod/SENTINEL_GROUP/shop-param-rules
	// system nacos:prod/SENTINEL_GROUP/shop-system-rules
	// authority nacos:prod/SENTINEL_GROUP/shop-authority-rules
	// gateway nacos:prod/SENTINEL_GROUP/shop-gateway-flow-rules
	// api nacos:prod/SENTINEL_GROUP/shop-gateway-api-rules
}
