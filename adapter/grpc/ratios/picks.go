package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/roundrobin"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

const (
	// readsOver is how many readings of the clock the policy's choice may take more than round_robin's: it reads it twice itself.
	readsOver = 6
	// heldReads is what the choice is held to until it takes no more than that.
	heldReads = 10
	// doneClosure is the allocation of what is called when an attempt ends.
	doneClosure = 1
	// batch is how many of such small works are timed together.
	batch = 1000
)

// picks measures the policy's choice of an instance and the report of how the attempt ended, over gRPC's round_robin.
func picks(rounds int, round time.Duration) (_ []Result, err error) {
	eng, err := cordon.New(cordon.WithRules(cordon.Rules{Isolation: []isolation.Rule{{ID: "all", Service: rule.Default()}}}))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	if err := cordongrpc.Register(eng, cordongrpc.PolicyName); err != nil {
		return nil, err
	}
	clk := clock.System().(*clock.SystemClock) // whose reading is one time.Since
	read := func() error {
		for range batch {
			if clk.Now() < 0 {
				return errors.New("the clock goes backwards")
			}
		}
		return nil
	}
	var results []Result
	for _, n := range []int{3, 100, 1000} {
		bare, err := newPicks(roundrobin.Name, n)
		if err != nil {
			return nil, err
		}
		with, err := newPicks(cordongrpc.PolicyName, n)
		if err != nil {
			return nil, err
		}
		r := Result{Work: fmt.Sprintf("pick and done, %d instances", n), Unit: "reads over round_robin", Target: readsOver, Held: heldReads}
		var over, ns []float64
		for i := range rounds + 1 {
			took, err := interleaved(round, read, bare.pick, with.pick)
			if err != nil {
				return nil, err
			}
			if i > 0 { // the first warms up
				over, ns = append(over, (took[2]-took[1])/took[0]), append(ns, took[2]/batch)
			}
		}
		r.Median, r.Low, r.High = median(over)
		r.NsOp, _, _ = median(ns)
		less, err := allocations(bare.pick)
		if err != nil {
			return nil, err
		}
		more, err := allocations(with.pick)
		if err != nil {
			return nil, err
		}
		r.Allocs = (more - less) / batch
		r.Missed = r.Median > r.Target && slices.Min(over) > r.Target
		if r.Allocs > doneClosure+.01 {
			r.Missed, r.Held = true, 0
		}
		results = append(results, r)
		bare.balancer.Close()
		with.balancer.Close()
	}
	return results, nil
}

// interleaved runs works in turn for a round, and returns what each takes: the median, for they are so short that most are not interrupted.
func interleaved(round time.Duration, works ...func() error) ([]float64, error) {
	clk := clock.System()
	took := make([][]float64, len(works))
	for start := clk.Now(); clk.Now()-start < round; {
		for i, f := range works {
			from := clk.Now()
			if err := f(); err != nil {
				return nil, err
			}
			took[i] = append(took[i], float64(clk.Now()-from))
		}
	}
	medians := make([]float64, len(works))
	for i := range took {
		medians[i], _, _ = median(took[i])
	}
	return medians, nil
}

// chooser is a balancer over connections that are always ready, and the picker that it made last.
type chooser struct {
	balancer.ClientConn
	balancer balancer.Balancer
	info     balancer.PickInfo

	state balancer.State
	ready int
	// due is what connections have to tell: not from within what they are asked, where locks are held.
	due []func()
}

// newPicks returns a policy's balancer over n connections.
func newPicks(policy string, n int) (*chooser, error) {
	c := &chooser{info: balancer.PickInfo{FullMethodName: "/orders.Orders/Create", Ctx: context.Background()}}
	c.balancer = balancer.Get(policy).Build(c, balancer.BuildOptions{})
	var s resolver.State
	for i := range n {
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: fmt.Sprintf("10.0.%d.%d:80", i/250, i%250)}}})
	}
	if err := c.balancer.UpdateClientConnState(balancer.ClientConnState{ResolverState: s}); err != nil {
		return nil, err
	}
	for len(c.due) > 0 {
		next := c.due[0]
		c.due = c.due[1:]
		next()
	}
	if c.ready != n || c.state.ConnectivityState != connectivity.Ready {
		return nil, fmt.Errorf("%s: %d of %d connections are ready, and the channel is %v", policy, c.ready, n, c.state.ConnectivityState)
	}
	return c, nil
}

// pick makes choices whose attempts succeed at once.
func (c *chooser) pick() error {
	for range batch {
		res, err := c.state.Picker.Pick(c.info)
		if err != nil {
			return err
		}
		if res.Done != nil {
			res.Done(balancer.DoneInfo{BytesSent: true, BytesReceived: true})
		}
	}
	return nil
}

// NewSubConn makes a connection.
func (c *chooser) NewSubConn(_ []resolver.Address, o balancer.NewSubConnOptions) (balancer.SubConn, error) {
	return &connection{chooser: c, listen: o.StateListener}, nil
}

// UpdateState takes a picker.
func (c *chooser) UpdateState(s balancer.State) {
	c.state = s
}

// ResolveNow does nothing: there is no resolver.
func (c *chooser) ResolveNow(resolver.ResolveNowOptions) {}

// connection is ready as soon as it is asked for.
type connection struct {
	balancer.SubConn
	chooser *chooser
	listen  func(balancer.SubConnState)
}

// Connect makes it ready.
func (c *connection) Connect() {
	c.chooser.ready++
	c.chooser.due = append(c.chooser.due, func() {
		c.listen(balancer.SubConnState{ConnectivityState: connectivity.Connecting})
		c.listen(balancer.SubConnState{ConnectivityState: connectivity.Ready})
	})
}

// RegisterHealthListener says that the other end is well.
func (c *connection) RegisterHealthListener(listen func(balancer.SubConnState)) {
	c.chooser.due = append(c.chooser.due, func() { listen(balancer.SubConnState{ConnectivityState: connectivity.Ready}) })
}

// UpdateAddresses does nothing: there is one.
func (c *connection) UpdateAddresses([]resolver.Address) {}

// Shutdown does nothing.
func (c *connection) Shutdown() {}
