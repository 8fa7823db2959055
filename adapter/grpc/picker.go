package cordongrpc

import (
	"errors"
	"math/rand/v2"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
)

// picker chooses among the instances that were connected when it was made.
type picker struct {
	policy   *policy
	balancer *balance.Balancer
	hashKey  string
	ready    map[*isolation.Member]balancer.Picker
}

// tries is how many instances are tried whose connections have gone meanwhile before gRPC is asked to wait for news of them.
const tries = 3

// Pick chooses an instance for an attempt of a call, and begins it.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	req := balance.Request{}
	if p.hashKey != "" {
		req.Hash = p.hash(info)
	}
	picked := pickedOf(info.Ctx)
	if picked != nil {
		req.Tried = picked.members()
	}
	for range tries {
		call, err := p.balancer.Pick(p.policy.clock.Now(), req)
		if err != nil {
			return balancer.PickResult{}, none(err)
		}
		var res balancer.PickResult
		child := p.ready[call.Member()]
		err = balancer.ErrNoSubConnAvailable
		if child != nil {
			res, err = child.Pick(info)
		}
		if err == nil {
			picked.add(call.Member())
			if plain, ok := call.Plain(); ok {
				res.Done = p.policy.reportPlain(plain, info.FullMethodName, res.Done)
			} else {
				res.Done = p.policy.report(call, info.FullMethodName, res.Done)
			}
			return res, nil
		}
		req.Tried = append(req.Tried[:len(req.Tried):len(req.Tried)], call.Member())
		call.End(p.policy.clock.Now(), isolation.Ignored)
	}
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}

// none returns the error of a pick without an instance.
func none(err error) error {
	if errors.Is(err, isolation.ErrNoInstance) { // the list is newer than this picker, and there will be another
		return balancer.ErrNoSubConnAvailable
	}
	return status.Error(codes.Unavailable, "cordongrpc: "+err.Error())
}

// report returns what reports an attempt's end. It is called under a lock of the stream's, so it must not call gRPC. done is told besides, if there is one.
func (p *policy) report(call balance.Call, method string, done func(balancer.DoneInfo)) func(balancer.DoneInfo) {
	return func(info balancer.DoneInfo) {
		c := call // by value, so that the function is all there is to allocate
		c.End(p.clock.Now(), p.cfg.attempt(method, &info))
		if done != nil {
			done(info)
		}
	}
}

// reportPlain is report for a call that is the instance's affair alone, as almost all are: most have nobody to tell besides and no codes of their methods either, and so need less memory.
func (p *policy) reportPlain(call isolation.Call, method string, done func(balancer.DoneInfo)) func(balancer.DoneInfo) {
	if done == nil && len(p.cfg.codes) == 0 {
		return func(info balancer.DoneInfo) {
			c := call
			c.End(p.clock.Now(), p.cfg.attempt("", &info))
		}
	}
	return func(info balancer.DoneInfo) {
		c := call
		c.End(p.clock.Now(), p.cfg.attempt(method, &info))
		if done != nil {
			done(info)
		}
	}
}

// hash returns what consistent hashing goes by. A call without the key goes by chance.
func (p *picker) hash(info balancer.PickInfo) uint64 {
	md, _ := metadata.FromOutgoingContext(info.Ctx)
	if all := md[p.hashKey]; len(all) > 0 {
		return balance.HashOf(all[0])
	}
	return rand.Uint64()
}

// attempt says what an attempt that ended so tells of the instance. The zero DoneInfo is that of an attempt whose connection had gone before anything was sent; gRPC then picks again.
func (c *config) attempt(method string, info *balancer.DoneInfo) isolation.Outcome {
	if info.Err == nil && info.BytesSent && len(c.codes) == 0 {
		return isolation.Success
	}
	code, _ := codeOf(info.Err)
	if !info.BytesSent && code != codes.DeadlineExceeded && code != codes.Canceled { // with these it waited for its turn, for the instance takes no more streams
		return isolation.Ignored
	}
	if ref := refusalIn(info.Err, code); ref != nil {
		if ref.Kind == cordon.KindSystem.String() {
			return isolation.Throttled
		}
		return isolation.Ignored
	}
	switch c.byCode(method, code) {
	case cordon.Success:
		return isolation.Success
	case cordon.Failure:
		return isolation.Failure
	}
	if code == codes.Canceled {
		return isolation.Abandoned
	}
	return isolation.Ignored
}

// refusalIn returns what an error says if it is a refusal by a peer's cordon, nil if it is none.
func refusalIn(err error, code codes.Code) *Refusal {
	switch code {
	case codes.ResourceExhausted, codes.Unavailable, codes.PermissionDenied:
		ref, _ := FromStatus(err)
		return ref
	}
	return nil
}
