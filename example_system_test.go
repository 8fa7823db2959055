package cordon_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/system"
)

// busy is a machine whose CPU is in use as the test likes.
type busy struct{ cpu float64 }

func (b *busy) CPU(time.Duration) (float64, bool) { return b.cpu, true }
func (b *busy) Load() (float64, bool)             { return 0, false } // unknown

// Rules are tested with a machine and a clock of one's own.
func ExampleWithSystemReader() {
	machine, clk := &busy{cpu: 0.95}, clock.NewManual()
	eng, err := cordon.New(cordon.WithSystemReader(machine), cordon.WithClock(clk), cordon.WithRules(cordon.Rules{
		System: []system.Rule{{ID: "cpu", Metric: system.CPU, Limit: 0.8, Admission: system.Refuse}},
	}))
	if err != nil {
		panic(err)
	}
	defer eng.Close()

	_, err = eng.Enter(context.Background(), cordon.Request{Resource: "GET /orders", Inbound: true})
	fmt.Println(errors.Is(err, system.ErrOverloaded), err)

	machine.cpu = 0.5
	clk.Advance(time.Second)
	ent, err := eng.Enter(context.Background(), cordon.Request{Resource: "GET /orders", Inbound: true})
	fmt.Println(err)
	ent.Exit(&err)

	// Output:
	// true cordon: system rule "cpu" blocked "GET /orders": process overloaded: share of the CPU (limit 0.8, observed 0.95), retry after 250ms
	// <nil>
}
