package main

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The methods of the service.
const (
	create  = "/shop.Orders/Create"  // an order
	export  = "/shop.Orders/Export"  // all orders
	sicken  = "/shop.Orders/Sicken"  // makes the server fail every so many orders; 0: none
	counted = "/shop.Orders/Counted" // returns how many orders the server was sent
)

// orders is the service.
type orders struct {
	every atomic.Int64 // fail every so many; 0: none
	seen  atomic.Int64
}

func (o *orders) create(context.Context, *emptypb.Empty) (any, error) {
	n := o.seen.Add(1)
	if every := o.every.Load(); every > 0 && n%every == 0 {
		return nil, status.Error(codes.Unavailable, "the database is gone")
	}
	return &emptypb.Empty{}, nil
}

func (o *orders) export(context.Context, *emptypb.Empty) (any, error) { return &emptypb.Empty{}, nil }

func (o *orders) sicken(_ context.Context, every *wrapperspb.Int64Value) (any, error) {
	o.every.Store(every.GetValue())
	return &emptypb.Empty{}, nil
}

func (o *orders) counted(context.Context, *emptypb.Empty) (any, error) {
	return wrapperspb.Int64(o.seen.Load()), nil
}

// description is what protoc would make of a .proto file.
func description() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{ServiceName: "shop.Orders", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{
		method("Create", (*orders).create), method("Export", (*orders).export), method("Sicken", (*orders).sicken), method("Counted", (*orders).counted),
	}}
}

func method[T any](name string, f func(*orders, context.Context, *T) (any, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(srv any, ctx context.Context, decode func(any) error, through grpc.UnaryServerInterceptor) (any, error) {
		in := new(T)
		if err := decode(in); err != nil {
			return nil, err
		}
		call := func(ctx context.Context, in any) (any, error) { return f(srv.(*orders), ctx, in.(*T)) }
		if through == nil {
			return call(ctx, in)
		}
		return through(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/shop.Orders/" + name}, call)
	}}
}
