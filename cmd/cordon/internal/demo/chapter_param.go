package demo

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/paramflow"
)

const (
	hotUser    = "7"
	cartRate   = 200
	othersRate = 200
	otherUsers = 1000
	// A scan makes one call for each of so many users, in that time if the machine has it.
	scanned    = 1_000_000
	scanLength = 3 * time.Second
	// scanning is the origin of its calls.
	scanning = "scan"
	// firstScanned is the first of its users; the others have lower numbers.
	firstScanned = 1_000_000
	// falseRefusals is how many of a scan's users may be refused, though each of them calls for the first time: one in so many.
	falseRefusals = 1000
)

// otherUser names the caller of the n-th call of the others, of whom each comes in turn.
func otherUser(n int64) string { return strconv.FormatInt(1000+n%otherUsers, 10) }

// scanFreesNobody: one user calls far more than it may, while a scan calls once for each of a million others. It stays at its limit, and everybody else is served.
func (s *stage) scanFreesNobody(ctx context.Context) error {
	s.title("A scan frees nobody from a limit", fmt.Sprintf(
		"each user of cart may call %d times a second: one sends %d, a thousand others some; meanwhile the engine is asked for a million more, one call each",
		s.rules.cartLimit, cartRate))
	s.shows(`param: [{id: cart, resource: cart, param: 'header["X-Demo-Caller"]', limit: %d, burst: %d}]`, s.rules.cartLimit, s.rules.cartBurst)
	from := s.clock.Now()
	s.cart.load.perSecond.Store(cartRate)
	s.others.perSecond.Store(othersRate)
	if _, err := s.await(ctx, time.Second, func() bool { return s.cart.load.tally().Limited > 0 }); err != nil {
		return err
	}
	before := s.cartStatus().Bytes
	users, refused, err := s.scan(ctx)
	if err != nil {
		return err
	}
	if err := s.settleLoads(ctx, s.cart.name+"/"+hotUser, s.cart.load, s.others); err != nil {
		return err
	}
	fullest := s.judgeHot(from, s.clock.Now())
	s.judgeScan(users, refused, before)
	s.outcome("values: a scan of %s users beside one at its limit: fullest second %s; at most %d; %d of the others' %d calls refused",
		grouped(users), fullest, s.rules.cartLimit+s.rules.cartBurst, s.others.tally().Limited, s.others.tally().Sent)
	return nil
}

// scan asks the gateway's engine for calls of users that nobody has heard of, each of them once, as far as its time goes. They go no further than that: what is tried is the
// engine's memory and not the machine's network.
func (s *stage) scan(ctx context.Context) (users, refused int, err error) {
	const look = 2 * time.Millisecond
	perLook := int(scanned * look / scanLength)
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	began := s.clock.Now()
	call := scannedCall{}
	for users < scanned && s.clock.Now()-began < scanLength+scanLength/4 {
		select {
		case <-ctx.Done():
			return users, refused, ctx.Err()
		case <-ticker.C:
		}
		// What was missed is caught up with slowly, for a scan is to be a stream of users and not one flood of them.
		due := int(scanned*(s.clock.Now()-began)/scanLength) - users
		for range min(due, 2*perLook, scanned-users) {
			call.user = firstScanned + users
			users++
			entry, err := s.front.engine.Enter(ctx, cordon.Request{Resource: s.cart.name, Carrier: &call, Origin: scanning})
			if err != nil {
				refused++
				continue
			}
			entry.End(cordon.Success)
		}
		runtime.Gosched()
	}
	return users, refused, nil
}

// A scannedCall is a call of a user who is only a number.
type scannedCall struct{ user int }

// Lookup returns the user where a request would have it.
func (c *scannedCall) Lookup(part extractor.Part, key string) (extractor.Value, bool) {
	return extractor.Int(int64(c.user)), part == extractor.Header && key == calledBy
}

// Body returns extractor.ErrNoBody.
func (*scannedCall) Body(int) ([]byte, error) { return nil, extractor.ErrNoBody }

// cartStatus is how the rule on the cart's users stands.
func (s *stage) cartStatus() paramflow.Status {
	for _, r := range s.front.engine.Snapshot().Resources {
		for _, rule := range r.Rules {
			if r.Name == s.cart.name && rule.Param != nil {
				return rule.Param.Status
			}
		}
	}
	return paramflow.Status{}
}

// judgeHot finds whether the user who calls too often was held to the limit at all times between from and to, and kept nobody else from calling. It returns the fullest seconds in
// words.
func (s *stage) judgeHot(from, to time.Duration) string {
	limit, burst := s.rules.cartLimit, s.rules.cartBurst
	hot := s.cart.load.tally()
	admitted := between(s.journal.admitted(s.cart.name+"/"+hotUser), from, to)
	arrived := between(s.cart.arrived(hotUser), from, to)
	most, _ := worst(admitted, time.Second)
	s.found(most <= limit+burst && most >= limit*9/10, "the user who sends %d a second: fullest second by admission: %d calls, at most %d + %d", cartRate, most, limit, burst)
	fullest := fmt.Sprintf("%d calls by admission", most)
	if len(admitted) != len(arrived) {
		s.found(false, "%d of its calls were admitted, but %d arrived at the service", len(admitted), len(arrived))
	} else {
		fullest += ", " + s.judgeArrivals(limit+burst, admitted, arrived)
	}
	if len(admitted) > 0 {
		span := admitted[len(admitted)-1] - admitted[0]
		allowed := float64(burst) + float64(limit)*span.Seconds()
		s.found(float64(len(admitted)) <= allowed+1, "all in all %d of its %d calls in %s, at most %d + %d·%.2f", len(admitted), hot.Sent, seconds(span), burst, limit, span.Seconds())
	}
	others := s.others.tally()
	s.found(others.OK == others.Sent && others.Sent > 0, "everybody else was served: %d of %d calls of %d users, %d refused, %d broken%s",
		others.OK, others.Sent, otherUsers, others.Limited, others.Broken, s.others.why())
	s.found(hot.Broken == 0, "and every call got an answer: %d good, %d refused with 429, %d broken%s", hot.OK, hot.Limited, hot.Broken, s.cart.load.why())
	return fullest
}

// judgeScan finds whether the users of the scan, each of whom called once, were let in, and whether they cost memory.
func (s *stage) judgeScan(users, refused, before int) {
	st := s.cartStatus()
	s.found(users > 0 && refused*falseRefusals <= users, "the scan: %s users, %d refused by mistake, at most 1 in %d", grouped(users), refused, falseRefusals)
	s.found(st.Bytes == before, "its memory is what it was before: %d KiB", st.Bytes>>10)
	hottest := paramflow.TopValue{}
	if len(st.Top) > 0 {
		hottest = st.Top[0]
	}
	s.found(hottest.Value == hotUser && hottest.Refused > 0, "it knows who it was: the hottest is %q, %d let through, %d refused", hottest.Value, hottest.Passed, hottest.Refused)
}

// grouped is a number with its thousands apart.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
