package sentinel_test

import (
	"fmt"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// A decoder puts the good rules of a document in force and tells of the bad ones.
func ExampleDecoder() {
	decode := sentinel.Decoder(sentinel.Flow)
	decoded, err := decode("shop-flow-rules", []byte(`[
	  {"resource": "GET:/orders", "count": 20},
	  {"resource": "GET:/search", "count": 5, "controlBehavior": 2, "maxQueueingTimeMs": 0}
	]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range decoded.Rules.Flow {
		fmt.Printf("%s: %v per %v\n", f.Resource.Pattern(), f.Limit, f.Per)
	}
	fmt.Println(decoded.Problems)
	// Output:
	// GET:/orders: 20 per 1s
	// shop-flow-rules:3:87: flow[1] (GET:/search#1): maxQueueingTimeMs: 0 is out of range; want 1 to 2147483647
}

// The dialect of a rule is told by its keys; without a limit there is nothing to tell it by.
func ExampleDecode() {
	for _, text := range []string{
		`[{"resource": "a", "count": 10}]`,
		`[{"resource": "a", "threshold": 10}]`,
		`[{"resource": "a", "controlBehavior": 1}]`,
	} {
		doc, err := sentinel.Decode(sentinel.Flow, "rules.json", []byte(text))
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%v: %d rules, %d problems\n", doc.Dialect, len(doc.Rules().Flow), len(doc.Problems))
	}
	// Output:
	// java: 1 rules, 0 problems
	// go: 1 rules, 0 problems
	// auto: 0 rules, 1 problems
}

// A document written back keeps what cordon does not use.
func ExampleDocument_Encode() {
	doc, err := sentinel.Decode(sentinel.Flow, "shop-flow-rules", []byte(`[{"id":1,"app":"shop","resource":"a","count":10}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	rules := doc.Rules()
	rules.Flow[0].Limit = 15
	data, lost, err := doc.Encode(rules)
	fmt.Print(string(data), lost, err)
	// Output:
	// [
	//   {"id":1,"app":"shop","resource":"a","count":15}
	// ]
	// [] <nil>
}

// What a dialect cannot say is listed.
func ExampleEncode() {
	rules := cordon.Rules{Flow: []flow.Rule{
		{Resource: rule.Name("a"), Limit: 100, Per: 10_000_000_000},
		{Resource: rule.Name("b"), Limit: 100, Shadow: true},
	}}
	data, lost, err := sentinel.Encode(sentinel.Java, sentinel.Flow, rules)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(data))
	for _, l := range lost {
		fmt.Println(l)
	}
	// Output:
	// [
	//   {"resource":"a","limitApp":"default","grade":1,"count":10,"strategy":0,"controlBehavior":0,"warmUpPeriodSec":10,"maxQueueingTimeMs":500,"clusterMode":false,"regex":false}
	// ]
	// flow (a#1): per: Sentinel Java's limits are per second; 100 per 10s is written as 10
	// flow (b#1): shadow: Sentinel has no rules in shadow, and would enforce it; the rule is left out
}

func ExampleKindOf() {
	fmt.Println(sentinel.KindOf("shop-degrade-rules", nil))
	fmt.Println(sentinel.KindOf("T13.param.json", nil))
	// Output:
	// breaker <nil>
	// param <nil>
}

// Limits of single values: Java looks at each element of an argument that is a list, and items that it cannot read are left out.
func ExampleDecode_param() {
	doc, err := sentinel.Decode(sentinel.Param, "shop-param-rules", []byte(`[
	  {"resource": "orders.Create", "paramIdx": 0, "count": 10, "burstCount": 5,
	   "paramFlowItemList": [{"object": "vip", "count": 500}, {"object": "seven", "count": 1, "classType": "int"}]}
	]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range doc.Rules().Param {
		fmt.Println(p)
		fmt.Println(p.Overrides[0].Value, p.Overrides[0].Limit, p.Overrides[0].Burst)
	}
	fmt.Println(doc.Problems.Warnings())
	// Output:
	// orders.Create: for each arg[0][*?] at most 10 calls per 1s with bursts of 15, the rest is refused; 1 with a limit of their own
	// vip 500 505
	// shop-param-rules:3:71: warning: param[0] (orders.Create#1): paramFlowItemList[1].object: "seven" is no value of type int; the item is left out, as Sentinel Java does
}

// One object of Sentinel Java sets several limits, and each becomes a rule.
func ExampleDecode_system() {
	doc, err := sentinel.Decode(sentinel.System, "shop-system-rules", []byte(`[{"qps":1000,"highestCpuUsage":0.8},{"highestCpuUsage":80}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range doc.Rules().System {
		fmt.Println(r.ID, r.Metric, r.Limit, r.Admission)
	}
	for _, p := range doc.Problems {
		fmt.Println(p)
	}
	// Output:
	// cpu#1 cpu 0.8 refuse
	// rate#1 rate 1000 bbr
	// shop-system-rules:1:56: system[1] (cpu#2): highestCpuUsage: 80 is no share of the CPU, and Sentinel Java ignores it; want 0 to 1, or below 0 for no limit
}
