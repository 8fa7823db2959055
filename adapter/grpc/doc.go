// Package cordongrpc guards gRPC servers and clients with a cordon engine.
//
//	srv := grpc.NewServer(cordongrpc.ServerOptions(eng)...)
//	conn, err := grpc.NewClient(target, append(cordongrpc.DialOptions(eng), grpc.WithTransportCredentials(creds))...)
//
// A call is one call of a resource named after its full method, "/orders.Orders/Create". A unary call lasts until its handler returns or its answer has come, a stream until it ends, whatever
// ends it. A refused call is answered with a status that says why (see Refusal), which FromStatus reads on the other side. Statuses are judged by their codes: what a caller
// did wrong, and refusals, are no illness of the called. Health checks and reflection pass unchecked.
//
// Rules on hot parameters look into the request as arg[0], the metadata as meta["x-user"], and the peer's address as peer.ip. Messages of generated code are read by their Go fields
// without more ado; for those of the opaque API and dynamic ones, and for names as they are in the .proto file, give the engine the walker of package extractor/protobuf:
//
//	eng, err := cordon.New(cordon.WithWalker(protobuf.Walker()))
package cordongrpc
