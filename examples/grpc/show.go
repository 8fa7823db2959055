package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/datasource/file"
	"github.com/cordon-go/cordon/isolation"
)

const (
	balanced = `{"loadBalancingConfig": [{"cordon": {}}]}`
	retrying = `{"loadBalancingConfig": [{"cordon": {}}], "methodConfig": [{"name": [{"service": "shop.Orders"}], "retryPolicy": {
	"maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`
)

// stage is three servers and a client.
type stage struct {
	out     io.Writer
	eng     *cordon.Engine
	servers []*process
	conn    *grpc.ClientConn
}

// show shows everything, by the rules in a folder.
func show(ctx context.Context, out io.Writer, dir string) error {
	s := &stage{out: out}
	defer s.close()
	var err error
	if s.eng, err = cordon.New(); err != nil {
		return err
	}
	if _, err := s.eng.Watch(ctx, file.Source(filepath.Join(dir, "client.yaml")), cordon.Native); err != nil {
		return err
	}
	if err := cordongrpc.Register(s.eng, cordongrpc.PolicyName); err != nil {
		return err
	}
	for range 3 {
		p, err := start("127.0.0.1:0", filepath.Join(dir, "server.yaml"))
		if err != nil {
			return err
		}
		s.servers = append(s.servers, p)
	}
	if err := s.dial(balanced); err != nil {
		return err
	}
	for _, scene := range []func(context.Context) error{s.well, s.oneFailsHalf, s.oneIsKilled, s.allAreSick, s.retries, s.refusal} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	for _, p := range s.servers {
		p.kill()
	}
	if s.eng != nil {
		_ = s.eng.Close()
	}
}

func (s *stage) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// dial makes the channel, instead of the one before. A resolver of one's own tells it where the servers are; that of dns:///orders:50051 would do as well.
func (s *stage) dial(config string, opts ...grpc.DialOption) (err error) {
	if s.conn != nil {
		if err := s.conn.Close(); err != nil {
			return err
		}
	}
	r := manual.NewBuilderWithScheme("shop")
	var state resolver.State
	for _, p := range s.servers {
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: p.address}}})
	}
	r.InitialState(state)
	s.conn, err = grpc.NewClient("shop:///orders", append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithResolvers(r), grpc.WithDefaultServiceConfig(config))...)
	return err
}

// order makes one call.
func (s *stage) order(ctx context.Context) error {
	return s.conn.Invoke(ctx, create, &emptypb.Empty{}, &emptypb.Empty{})
}

// orders makes calls by several callers, and returns how many failed and which share of them each server got. At half of them it does something else besides.
func (s *stage) orders(ctx context.Context, n, callers int, halfway func()) (failed int, shares []int, err error) {
	before, err := s.counted(ctx)
	if err != nil {
		return 0, nil, err
	}
	var made, bad atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for {
				switch i := made.Add(1); {
				case i > int64(n):
					return
				case i == int64(n)/2 && halfway != nil:
					halfway()
				}
				if s.order(ctx) != nil {
					bad.Add(1)
				}
			}
		})
	}
	all.Wait()
	if halfway != nil { // one of those who count is gone
		return int(bad.Load()), nil, ctx.Err()
	}
	after, err := s.counted(ctx)
	if err != nil {
		return 0, nil, err
	}
	for i := range after {
		after[i] -= before[i]
	}
	return int(bad.Load()), after, nil
}

// counted returns how many orders each server was sent.
func (s *stage) counted(ctx context.Context) (all []int, err error) {
	for _, p := range s.servers {
		n, err := p.counted(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// sicken makes servers fail every so many calls, or none if that is 0.
func (s *stage) sicken(ctx context.Context, every int64, servers ...int) error {
	for _, i := range servers {
		if err := s.servers[i].sicken(ctx, every); err != nil {
			return err
		}
	}
	return nil
}

// until makes calls until what is known of the instances is as wanted, and returns how many that took and how many of them failed.
func (s *stage) until(ctx context.Context, wanted func(isolation.Snapshot) bool) (calls, failed int, err error) {
	for ; ; calls++ {
		for _, service := range s.eng.Snapshot().Services {
			if wanted(service) {
				return calls, failed, nil
			}
		}
		if err := ctx.Err(); err != nil {
			return calls, failed, fmt.Errorf("waiting for the instances, which stand so: %+v: %w", s.eng.Snapshot().Services, err)
		}
		if s.order(ctx) != nil {
			failed++
		}
	}
}

// stands returns a condition: that a server stands so.
func (s *stage) stands(i int, state isolation.State) func(isolation.Snapshot) bool {
	return func(service isolation.Snapshot) bool {
		for _, in := range service.Instances {
			if in.Address == s.servers[i].address {
				return in.State == state
			}
		}
		return false
	}
}

// allServe is the condition that all servers are in service.
func (s *stage) allServe(service isolation.Snapshot) bool {
	for i := range s.servers {
		if !s.stands(i, isolation.InService)(service) {
			return false
		}
	}
	return !service.Fallback
}

// even shows that all are in service, and get the same.
func (s *stage) even(ctx context.Context) error {
	if _, _, err := s.until(ctx, s.allServe); err != nil {
		return err
	}
	failed, shares, err := s.orders(ctx, 300, 1, nil)
	if err == nil {
		s.say("all in service: 300 calls, %d failed, shares %v", failed, shares)
	}
	return err
}

func (s *stage) well(ctx context.Context) error { return s.even(ctx) }

func (s *stage) oneFailsHalf(ctx context.Context) error {
	s.say("\nserver 2 fails half of its calls")
	if err := s.sicken(ctx, 2, 1); err != nil {
		return err
	}
	calls, failed, err := s.until(ctx, s.stands(1, isolation.Quarantined))
	if err != nil {
		return err
	}
	s.say("quarantined after %d calls, %d failed", calls, failed)
	failed, _, err = s.orders(ctx, 2000, 1, nil)
	if err != nil {
		return err
	}
	s.say("since then: 2000 calls, %d failed", failed)
	if err := s.sicken(ctx, 0, 1); err != nil {
		return err
	}
	s.say("server 2 is well again")
	return s.even(ctx)
}

func (s *stage) oneIsKilled(ctx context.Context) error {
	s.say("\nserver 3 is killed under 4 callers")
	failed, _, err := s.orders(ctx, 2000, 4, s.servers[2].kill)
	if err != nil {
		return err
	}
	s.say("2000 calls, %d failed", failed)
	if _, _, err := s.until(ctx, s.stands(2, isolation.Unreachable)); err != nil {
		return err
	}
	again, err := start(s.servers[2].address, s.servers[2].rules)
	if err != nil {
		return err
	}
	s.servers[2] = again
	s.say("server 3 is started again")
	s.conn.ResetConnectBackoff() // it would be found within some seconds
	return s.even(ctx)
}

func (s *stage) allAreSick(ctx context.Context) error {
	s.say("\nall servers fail all calls")
	if err := s.sicken(ctx, 1, 0, 1, 2); err != nil {
		return err
	}
	if _, _, err := s.until(ctx, func(service isolation.Snapshot) bool { return service.Fallback }); err != nil {
		return err
	}
	failed, shares, err := s.orders(ctx, 300, 1, nil)
	if err != nil {
		return err
	}
	s.say("fallback: 300 calls, %d failed, shares %v", failed, shares)
	if err := s.sicken(ctx, 0, 0, 1, 2); err != nil {
		return err
	}
	s.say("all are well again")
	return s.even(ctx)
}

// retries shows what a retry policy makes of it: the instances are judged by every attempt, the breaker by whole calls.
func (s *stage) retries(ctx context.Context) error {
	s.say("\nwith gRPC's retries and a breaker, server 2 fails all calls")
	if err := s.dial(retrying, cordongrpc.DialOptions(s.eng)...); err != nil {
		return err
	}
	if _, _, err := s.until(ctx, s.allServe); err != nil {
		return err
	}
	before, err := s.counted(ctx)
	if err != nil {
		return err
	}
	if err := s.sicken(ctx, 1, 1); err != nil {
		return err
	}
	calls, failed, err := s.until(ctx, s.stands(1, isolation.Quarantined))
	if err != nil {
		return err
	}
	after, err := s.counted(ctx)
	if err != nil {
		return err
	}
	r, _ := s.eng.ResourceSnapshot(create)
	s.say("quarantined after %d calls, %d failed; %d attempts of theirs had failed", calls, failed, after[1]-before[1])
	s.say("the breaker saw %d failures", r.Failed)
	return s.sicken(ctx, 0, 1)
}

// refusal shows what a client without cordon sees of a refused call.
func (s *stage) refusal(ctx context.Context) error {
	s.say("\na plain client asks for more than its due")
	var trailer metadata.MD
	var err error
	for err == nil && ctx.Err() == nil {
		err = s.servers[0].conn.Invoke(ctx, export, &emptypb.Empty{}, &emptypb.Empty{}, grpc.Trailer(&trailer))
	}
	st := status.Convert(err)
	s.say("code: %v\nmessage: %s", st.Code(), st.Message())
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			s.say("ErrorInfo: reason %s, domain %s, kind %s, rule %s", d.GetReason(), d.GetDomain(), d.GetMetadata()["kind"], d.GetMetadata()["rule"])
		case *errdetails.RetryInfo:
			s.say("RetryInfo: %v", d.GetRetryDelay().AsDuration())
		}
	}
	s.say("grpc-retry-pushback-ms: %v", trailer.Get("grpc-retry-pushback-ms"))
	return nil
}
