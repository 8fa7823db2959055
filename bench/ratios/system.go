package main

import (
	"time"

	"github.com/cordon-go/cordon/bench"
)

// systems measures system rules on cpu, concurrency and responseTime, over the same inbound call without rules, and what they refuse.
func systems(rounds int, length time.Duration) ([]Result, error) {
	without, err := bench.NewInbound(false, false)
	if err != nil {
		return nil, err
	}
	defer without.Close()
	with, err := bench.NewInbound(true, false)
	if err != nil {
		return nil, err
	}
	defer with.Close()
	refused, err := bench.NewInbound(true, true)
	if err != nil {
		return nil, err
	}
	defer refused.Close()
	plain := &work{name: "inbound call without system rules", run: without.Call, silent: true}
	return measure(clockFloors(), []*work{
		plain,
		{name: "system rules on cpu + concurrency + responseTime, besides the inbound call", floor: oneRead, target: 0.5, run: with.Call, less: plain},
		{name: "inbound call refused by a system rule", floor: oneRead, target: 2, run: refused.Call},
	}, rounds, length), nil
}
