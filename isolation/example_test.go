package isolation_test

import (
	"fmt"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// call makes a call to each instance that may be called; that of the address given fails.
func call(g *isolation.Group, now time.Duration, fails string) {
	for _, c := range g.View(now).Candidates {
		call, ok := c.Member.Begin(now)
		if !ok {
			continue
		}
		outcome := isolation.Success
		if call.Address() == fails {
			outcome = isolation.Failure
		}
		call.End(now+2*time.Millisecond, outcome)
	}
}

var five = []isolation.Instance{{Address: "a:80"}, {Address: "b:80"}, {Address: "c:80"}, {Address: "d:80"}, {Address: "e:80"}}

// A group alone, without an engine: one of five instances begins to fail, goes, and comes back when it is well.
func Example() {
	group, err := isolation.NewGroup("orders", isolation.Config{
		Rule: &isolation.Rule{Jitter: .01},
		Seed: 1, // the jitter is the same each time
		OnEvent: func(e isolation.Event) {
			fmt.Printf("%v: %s is %s\n", e.At.Round(time.Second), e.Address, e.Kind)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Close()
	group.Update(0, five)
	for now := time.Second; now < time.Minute; now += 50 * time.Millisecond {
		fails := ""
		if now > 10*time.Second && now < 14*time.Second {
			fails = "c:80"
		}
		call(group, now, fails)
	}
	// Output:
	// 10s: c:80 is quarantined
	// 15s: c:80 is probing
	// 16s: c:80 is readmitted
	// 31s: c:80 is in service
}

// A rule in shadow says whom it would put out, and puts out none.
func ExampleRule_shadow() {
	group, err := isolation.NewGroup("orders", isolation.Config{
		Rule: &isolation.Rule{Shadow: true},
		OnEvent: func(e isolation.Event) {
			fmt.Printf("would be %s: %s, since %s\n", e.Kind, e.Address, e.Reason)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Close()
	group.Update(0, five)
	for now := time.Second; now < 2*time.Second; now += 20 * time.Millisecond {
		call(group, now, "b:80")
	}
	fmt.Println(len(group.View(2*time.Second).Candidates), "of 5 in service")
	// Output:
	// would be quarantined: b:80, since 8 of 8 calls failed (100%) while 0 of 28 calls to its peers did (0%): 15.8 nats, it takes 15.6
	// 5 of 5 in service
}

// Why explains where an instance stands, and with what evidence.
func ExampleGroup_Why() {
	group, err := isolation.NewGroup("orders", isolation.Config{Rule: &isolation.Rule{Jitter: 1e-9}, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Close()
	group.Update(0, five)
	now := time.Second
	for ; now < 2*time.Second; now += 20 * time.Millisecond {
		call(group, now, "b:80")
	}
	why, _ := group.Why(now, "b:80")
	fmt.Println(why.State, "for another", why.Left.Round(time.Second))
	fmt.Println(why.Verdict)
	fmt.Println("strikes:", why.Strikes)
	// Output:
	// quarantined for another 4s
	// 8 of 8 calls failed (100%) while 0 of 28 calls to its peers did (0%): 15.8 nats, it takes 15.6
	// strikes: 1
}
