package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// The servers are this binary again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
		return
	}
	os.Exit(m.Run())
}

// What is shown is true with real processes.
func TestShow(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // for slow machines: it waits for states
	defer cancel()
	var out bytes.Buffer
	err := show(ctx, &out, ".")
	t.Logf("it printed\n%s", &out)
	if err != nil {
		t.Fatal(err)
	}
	even := `all in service: 300 calls, 0 failed, shares \[(?:9[5-9]|10[0-5]) (?:9[5-9]|10[0-5]) (?:9[5-9]|10[0-5])\]\n`
	want := regexp.MustCompile(`^` + even + `
server 2 fails half of its calls
quarantined after (\d+) calls, (\d+) failed
since then: 2000 calls, (?P<sick>\d+) failed
server 2 is well again
` + even + `
server 3 is killed under 4 callers
2000 calls, (?P<killed>\d+) failed
server 3 is started again
` + even + `
all servers fail all calls
fallback: 300 calls, 300 failed, shares \[(?P<one>\d+) (?P<two>\d+) (?P<three>\d+)\]
all are well again
` + even + `
with gRPC's retries and a breaker, server 2 fails all calls
quarantined after (\d+) calls, 0 failed; (?P<attempts>\d+) attempts of theirs had failed
the breaker saw 0 failures

a plain client asks for more than its due
code: ResourceExhausted
message: cordon: flow rule "exports" blocked "/shop.Orders/Export": .*
ErrorInfo: reason RATE_LIMITED, domain cordon, kind flow, rule exports
RetryInfo: [0-9.m]+s
grpc-retry-pushback-ms: \[\d+\]
$`)
	found := want.FindSubmatch(out.Bytes())
	if found == nil {
		t.Fatalf("it is not\n%s", want)
	}
	for name, within := range map[string][2]int{
		"sick": {0, 20}, "killed": {0, 10}, "one": {95, 105}, "two": {95, 105}, "three": {95, 105}, "attempts": {3, 1000},
	} {
		n, _ := strconv.Atoi(string(found[want.SubexpIndex(name)]))
		if n < within[0] || n > within[1] {
			t.Errorf("%s is %d, want %d to %d", name, n, within[0], within[1])
		}
	}
}
