package main

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

const (
	// within is the target of works that must not be felt.
	within = 1.03
	// tapWithin is that of calls that come by a tap, which is for servers that have calls to refuse.
	tapWithin = 1.10
	// noise is how far below its target the interval of a median must reach that says nothing: a work within 3 % is not missed while it may cost nothing at all.
	noise = 0.03
	// heldNoise is by how much a median may be above its target: a call over loopback takes 80 µs of the kernel's and the scheduler's time, which differ more between runs than what is measured.
	heldNoise = 1.12
)

// unary measures a unary call over loopback, with a rate and a breaker on both sides.
func unary(rounds int, round time.Duration) (_ []Result, err error) {
	method := rule.Name(grpc_health_v1.Health_Check_FullMethodName)
	rules := cordon.WithRules(cordon.Rules{
		Flow:    []flow.Rule{{ID: "rate", Resource: method, Limit: 1e7}},
		Breaker: []breaker.Rule{{ID: "breaker", Resource: method, Threshold: 0.5}},
	})
	here, err := cordon.New(rules)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, here.Close()) }()
	there, err := cordon.New(rules)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, there.Close()) }()
	bare, err := start(nil, nil)
	if err != nil {
		return nil, err
	}
	defer bare.stop()
	all := cordongrpc.WithExcluded() // health checks are measured here
	server := cordongrpc.ServerOptions(there, all)
	with, err := start(server, cordongrpc.DialOptions(here, all))
	if err != nil {
		return nil, err
	}
	defer with.stop()
	tapped, err := start(append(server, grpc.InTapHandle(cordongrpc.TapHandle(there, all))), cordongrpc.DialOptions(here, all))
	if err != nil {
		return nil, err
	}
	defer tapped.stop()
	var results []Result
	for _, w := range []struct {
		name   string
		target float64
		*shop
	}{{"unary call over loopback, both sides", within, with}, {"the same with a tap", tapWithin, tapped}} {
		ratios, ns, err := pair(rounds, round, bare.call, w.call)
		if err != nil {
			return nil, err
		}
		r := Result{Work: w.name, Unit: "× bare", Target: w.target, Held: w.target * heldNoise}
		r.Median, r.Low, r.High = median(ratios)
		r.NsOp, _, _ = median(ns)
		r.Missed = r.Median > w.target && r.Low > w.target-noise
		less, err := allocations(bare.call)
		if err != nil {
			return nil, err
		}
		more, err := allocations(w.call)
		if err != nil {
			return nil, err
		}
		r.Allocs = more - less
		results = append(results, r)
	}
	return results, nil
}

// shop is a server and a client of it.
type shop struct {
	client grpc_health_v1.HealthClient
	stop   func()
}

func start(so []grpc.ServerOption, do []grpc.DialOption) (*shop, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := grpc.NewServer(so...)
	grpc_health_v1.RegisterHealthServer(srv, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), append(do, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		srv.Stop()
		return nil, err
	}
	return &shop{grpc_health_v1.NewHealthClient(conn), func() {
		_ = conn.Close() // nothing is under way
		srv.Stop()
		<-served
	}}, nil
}

func (s *shop) call() error {
	_, err := s.client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	return err
}
