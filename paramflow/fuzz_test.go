package paramflow

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
)

// FuzzRule: a document is a rule, valid or not; a valid one makes a limiter, is written and read again as the same, and is worded.
func FuzzRule(f *testing.F) {
	for _, document := range []string{
		"limit: 10", "limit: 0.5\nper: 1h\nburst: 3", "mode: pace\nlimit: 100\nmaxWait: 1s\nmaxQueue: 4", "mode: concurrency\nlimit: 3",
		`{limit: 1, overrides: [{value: 7, limit: 3}, {value: 7.5}, {value: true, limit: 2, burst: 9}, {wildcard: "a*?"}, {regex: "x{1,9}|y", limit: 1}]}`,
		"limit: 1\nonly: {wildcard: \"7*\"}\noverrides: [{value: 7, limit: 2}]", "limit: 1\nonly: {regex: x}",
		"limit: 1e7\nvalues: 100\nredact: true\nabsent: count",
	} {
		f.Add([]byte(document), "7")
	}
	f.Fuzz(func(t *testing.T, document []byte, text string) {
		n, err := rule.ParseYAML(document)
		if err != nil || n == nil || n.Kind != rule.Object {
			return
		}
		var r Rule
		if len(rule.Decode(n, &r, "").Faults()) > 0 || r.Values > 100_000 || len(r.faultsOf()) > 0 {
			return
		}
		l := newTestLimiter(t, r, 0)
		again, err := rule.Encode(r)
		require.NoError(t, err)
		var back Rule
		require.Empty(t, rule.Decode(again, &back, ""))
		require.True(t, r.Equal(back))
		require.NotEmpty(t, r.String())
		for i := range 3 {
			now := time.Duration(i) * time.Second
			p, wait, after, ok := l.Acquire(now, value(text), 1+i)
			require.True(t, ok || after >= -1)
			require.GreaterOrEqual(t, wait, time.Duration(0))
			if ok {
				l.Cancel(now, p)
			}
		}
		kept, err := l.Update(Rule{Mode: r.Mode, Limit: 3}, time.Second)
		require.NoError(t, err)
		require.True(t, kept)
	})
}

func (r Rule) faultsOf() rule.Problems { return rule.Problems(r.check()).Faults() }

// FuzzTrace: whatever is called when, the promise holds. Each three bytes are a call: the value and what is done, a pause, a cost.
func FuzzTrace(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x00\x00\x01\x01\x20\x02\x83\x01\x01\x00\xff\x01"), uint16(3))
	f.Add(binary.LittleEndian.AppendUint64(nil, 0x0102030405060708), uint16(1))
	f.Fuzz(func(t *testing.T, trace []byte, burst uint16) {
		b := int(burst%20) + 1
		l := newTestLimiter(t, Rule{Limit: 20, Burst: b, Values: minValues}, 0)
		admitted := make(map[byte][]admission)
		var now time.Duration
		next := 0
		for ; len(trace) >= 3; trace = trace[3:] {
			now += time.Duration(trace[1]) * time.Millisecond
			if trace[0]&0x80 != 0 {
				crowd(l, now, next, int(trace[2]))
				next += int(trace[2])
				continue
			}
			v, cost := trace[0]&7, int(trace[2]&3)+1
			at := now - time.Duration(trace[0]>>3&3)*10*time.Millisecond
			p, _, _, ok := l.Acquire(at, other(int(v)-100), cost)
			switch {
			case ok && trace[0]&0x40 != 0:
				l.Cancel(now, p)
			case ok:
				admitted[v] = append(admitted[v], admission{at, cost})
			}
		}
		for _, list := range admitted {
			requirePromise(t, list, b, 20, time.Second)
		}
	})
}
