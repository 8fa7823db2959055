package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNginx looks at `cordon gateway` from outside: the program as it is built, in front of an nginx that notes when each request
// arrives. What is judged is what the upstream saw and what the clients were answered. To run it alone, and see the figures:
//
//	go test -count=1 -run Nginx -v ./cmd/cordon
//
// At most inTransit requests are ever on their way through the gateway, so it can be said exactly what may be seen behind it: of a window's
// arrivals all but those were also admitted in a window of that length, however long each was on its way. A limit that is
// held by the time of decision thus never shows more than the limit and inTransit arrivals, on the slowest machine.
func TestNginx(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	nginxPath := findNginx(t)
	program := buildCordon(t)
	t.Log("to run this alone: go test -count=1 -run Nginx -v ./cmd/cordon")

	t.Run("limit", func(t *testing.T) { checkLimit(t, nginxPath, program) })
	for _, way := range waysToReplace() {
		t.Run(way.name, func(t *testing.T) { checkReplacing(t, nginxPath, program, way) })
	}
}

// inTransit is how many connections the clients of a limit have.
const inTransit = 2

// most is how many arrivals a limit may show in any second.
func most(limit int) int { return limit + limit/100 + 1 }

// checkLimit floods a route and looks for the second with the most arrivals.
func checkLimit(t *testing.T, nginxPath, program string) {
	const limit, seconds = 200, 9
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rules.yaml"), firstRules(limit), 0o644))
	upstream := startNginx(t, nginxPath)
	gw := startGateway(t, program, folder, upstream.url)

	sent, admitted, with := flood(t, gw.url+"/shop", seconds*time.Second)

	seen := upstream.arrivals(t, "/shop")
	require.NotEmpty(t, seen)
	require.GreaterOrEqual(t, seen.span(), 8*time.Second)
	require.Greater(t, sent, 3*limit*seconds, "%s sent too little to try the limit", with)
	// What was under way when the load ended was not counted by it.
	require.Subset(t, []int{0, 1, inTransit}, []int{len(seen) - admitted}, "admitted, by the load and by nginx")

	worst, whole := seen.worst(), seen.between(seen[0], seen[0]+8000)
	t.Logf("limit %d/s, %s sending %d/s: worst second %d arrivals (at most %d), %.1f/s admitted over 8 s (%.1f%% of the limit)",
		limit, with, sent/seconds, worst, most(limit), float64(whole)/8, 100*float64(whole)/(8*limit))
	require.LessOrEqual(t, worst, most(limit))
	require.GreaterOrEqual(t, float64(whole), 0.97*8*limit)
}

// checkReplacing replaces the file of rules twice under load, first raising the limit and then lowering it, while a breaker is open.
func checkReplacing(t *testing.T, nginxPath, program string, way wayToReplace) {
	const before, raised, lowered = 200, 400, 100
	folder := t.TempDir()
	require.NoError(t, way.prepare(folder, firstRules(before)))
	upstream := startNginx(t, nginxPath)
	gw := startGateway(t, program, folder, upstream.url)

	shop := startLoad(gw.url+"/shop", inTransit, 1500)
	defer shop.stop()
	broken := startLoad(gw.url+"/broken", 1, 50)
	defer broken.stop()
	open := gw.eventually(t, "the breaker is open", func(s gatewayState) bool { return s.breaker == "open" })
	time.Sleep(1200 * time.Millisecond) // the old limit is used up

	replace := func(limit int, rules []byte) (at time.Time, inForce time.Duration) {
		at = time.Now()
		require.NoError(t, way.replace(folder, rules))
		now := gw.eventually(t, "the new limit is in force", func(s gatewayState) bool { return s.limit == limit })
		inForce = time.Since(at)
		require.Equal(t, "open", now.breaker)
		require.WithinDuration(t, open.retryAt, now.retryAt, 5*time.Millisecond, "an edit must not touch the timer of an open breaker")
		time.Sleep(time.Until(at.Add(3500 * time.Millisecond)))
		return at, inForce
	}
	// A breaker that heeded the edited open time at once would probe too early after the first replacement, and too late after the second.
	up, upInForce := replace(raised, rulesWith(raised, 0.6, "1s"))
	down, downInForce := replace(lowered, rulesWith(lowered, 0.7, "1m"))
	reopened := gw.eventually(t, "the breaker has probed", func(s gatewayState) bool { return s.reopened > 0 })
	require.Equal(t, "open", reopened.breaker)
	answers, brokenAnswers := shop.stop(), broken.stop()

	// Whoever asked was answered, by nginx or by a rule, and nothing was sent twice.
	seen, seenBroken := upstream.arrivals(t, "/shop"), upstream.arrivals(t, "/broken")
	require.Len(t, seen, answers.count(t, 200, 429, "flow"))
	require.Len(t, seenBroken, brokenAnswers.count(t, 500, 503, "breaker"))

	// The limits, at all times and from a second after each replacement. Raised, one is in effect when a second has more arrivals than the old
	// one allows; lowered, when none has more than the new one allows.
	upAt, downAt := up.UnixMilli(), down.UnixMilli()
	require.LessOrEqual(t, seen.to(upAt).worst(), most(before))
	require.LessOrEqual(t, seen.worst(), most(raised))
	tookUp, tookDown := seen.firstAbove(most(before))-upAt, max(seen.lastAbove(most(lowered))-downAt, 0)
	afterUp, afterDown := seen.from(upAt+1000).to(downAt), seen.from(downAt+1000)
	const figures = "%d/s to %d/s: by arrivals in effect after %d ms (by the admin address %d ms); a second later %.1f/s, worst second %d (at most %d)"
	t.Logf(figures, before, raised, tookUp, upInForce.Milliseconds(), afterUp.rate(), afterUp.worst(), most(raised))
	t.Logf(figures, raised, lowered, tookDown, downInForce.Milliseconds(), afterDown.rate(), afterDown.worst(), most(lowered))
	require.LessOrEqual(t, tookUp, int64(1000))
	require.LessOrEqual(t, tookDown, int64(1000))
	require.LessOrEqual(t, afterDown.worst(), most(lowered))
	for limit, after := range map[int]moments{raised: afterUp, lowered: afterDown} {
		require.GreaterOrEqual(t, after.rate(), 0.8*float64(limit)) // a busy machine may keep the load from asking for a moment
	}

	// The breaker let nothing pass from before the first replacement until its own open time was over, often as it was asked.
	last, probe := seenBroken.to(upAt).last(), seenBroken.from(upAt)[0]
	t.Logf("%d answers by nginx, %d by rules; the breaker was open for %d ms (open: %v)", len(seen), len(answers)-len(seen), probe-last, openTime)
	require.Greater(t, len(brokenAnswers)-len(seenBroken), 100)
	require.Greater(t, probe, downAt)
	require.GreaterOrEqual(t, probe-last, openTime.Milliseconds()-1) // stamps are cut to a millisecond
	require.LessOrEqual(t, probe-last, openTime.Milliseconds()+1000)
}

// openTime is that of the breaker before its rule is edited: it outlasts both replacements.
const openTime = 7 * time.Second

func firstRules(limit int) []byte { return rulesWith(limit, 0.5, openTime.String()) }

func rulesWith(limit int, threshold float64, open string) []byte {
	return []byte("cordon: 1\n" +
		"flow:\n  - {id: shop, resource: shop, limit: " + strconv.Itoa(limit) + "}\n" +
		"breaker:\n  - {id: broken, resource: broken, trip: errorRatio, threshold: " + strconv.FormatFloat(threshold, 'g', -1, 64) +
		", window: 10s, minCalls: 10, open: " + open + "}\n")
}

// A wayToReplace puts other rules into folder/rules.yaml.
type wayToReplace struct {
	name             string
	prepare, replace func(folder string, rules []byte) error
}

func waysToReplace() []wayToReplace {
	const name = "rules.yaml"
	write := func(folder string, rules []byte) error {
		return os.WriteFile(filepath.Join(folder, name), rules, 0o644)
	}
	return []wayToReplace{
		{"rename", write, func(folder string, rules []byte) error {
			fresh := filepath.Join(folder, name+".new")
			if err := os.WriteFile(fresh, rules, 0o644); err != nil {
				return err
			}
			return os.Rename(fresh, filepath.Join(folder, name))
		}},
		{"config map", func(folder string, rules []byte) error {
			if err := os.Symlink(filepath.Join("..data", name), filepath.Join(folder, name)); err != nil {
				return err
			}
			return swapData(folder, name, rules)
		}, func(folder string, rules []byte) error { return swapData(folder, name, rules) }},
		{"truncate", write, func(folder string, rules []byte) error { return writeInPlace(filepath.Join(folder, name), rules) }},
	}
}

// swapData does what a kubelet does to a mounted ConfigMap: the files are in a new folder, to which the link ..data is then turned at once.
func swapData(folder, name string, content []byte) error {
	data, turned := filepath.Join(folder, "..data"), filepath.Join(folder, "..data_tmp")
	old, _ := os.Readlink(data) // "" the first time
	fresh, err := os.MkdirTemp(folder, "..2026_")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(fresh, name), content, 0o644); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Base(fresh), turned); err != nil {
		return err
	}
	if err := os.Rename(turned, data); err != nil {
		return err
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(folder, old))
}

// writeInPlace empties the file and writes it in small pieces: who reads too early finds half of it, or nothing.
func writeInPlace(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for len(content) > 0 {
		n, err := f.Write(content[:min(16, len(content))])
		if err != nil {
			return err
		}
		content = content[n:]
	}
	return f.Close()
}
