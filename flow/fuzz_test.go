package flow

import (
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fuzzRules are what FuzzLimiter edits between.
func fuzzRules() []Rule {
	mem := Memory{LowLimit: 9, HighLimit: 2, LowMark: 100, HighMark: 200}
	return []Rule{
		{Limit: 3}, {Limit: 10, Per: time.Millisecond}, {Limit: 0.5}, {Limit: 300}, {Limit: 100_000}, {Limit: 1e7}, {Limit: 1e7 * 86400, Per: 24 * time.Hour}, {},
		{Limit: 10, Mode: Smooth}, {Limit: 10, Mode: Smooth, Burst: 5}, {Limit: 1e7, Mode: Smooth, Burst: 100}, {Limit: 1e-6, Mode: Smooth, Burst: 2},
		{Limit: 10, Mode: Pace}, {Limit: 10, Mode: Pace, MaxWait: time.Second}, {Limit: 3e6, Mode: Pace, MaxWait: time.Hour},
		{Limit: 30, Mode: WarmUp}, {Limit: 2, Mode: WarmUp, WarmUp: time.Second, ColdFactor: 100},
		{Limit: 30, Mode: WarmUpPace}, {Limit: 1, Mode: WarmUpPace, MaxWait: time.Minute},
		{Memory: mem},
	}
}

// FuzzLimiter runs any sequence of calls, cancels and edits, with readings in any order: nothing panics, tokens are
// conserved, no wait is negative, and the bound of the rule in force holds for what it let pass.
func FuzzLimiter(f *testing.F) {
	f.Add([]byte("\x00\x00aaaaaaaaaaaaaaaa"))
	f.Add([]byte("\x08\x00a\x10b\x20e\x01c\x03a\xffa\x01e\x0da\x01a\x01a\x01c\x01"))
	f.Add([]byte("\x0fa\x01a\x01d\xffa\x01e\x04a\x01e\x06a\x09e\x00a\x01l\x80"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) == 0 {
			return
		}
		if len(ops) > 400 {
			ops = ops[:400]
		}
		rules := fuzzRules()
		used := int64(150)
		sensor := NewSensor(func() (int64, int64, bool) { return used, 0, used > 20 })
		r := rules[int(ops[0])%len(rules)]
		now := time.Duration(0)
		l, err := NewLimiterWith(r, now, sensor)
		require.NoError(t, err)
		var standing []held // of the rule in force
		acquire := func(at time.Duration, cost int) {
			p, wait, retry, ok := l.Acquire(at, cost)
			require.GreaterOrEqual(t, wait, time.Duration(0))
			if ok {
				require.LessOrEqual(t, wait, r.MaxWait)
				standing = append(standing, held{p, admission{at + wait, int64(max(cost, 1))}})
				return
			}
			require.True(t, retry == -1 || retry > 0, retry)
		}
		for i := 1; i+1 < len(ops); i += 2 {
			arg := ops[i+1]
			switch ops[i] % 8 {
			case 0, 1:
				acquire(now, int(arg%8))
			case 2:
				acquire(now-time.Duration(arg)*time.Duration(arg)*time.Millisecond, 1)
			case 3:
				if len(standing) > 0 {
					j := int(arg) % len(standing)
					l.Cancel(now, standing[j].permit)
					standing = append(standing[:j], standing[j+1:]...)
				}
			case 4:
				now += time.Duration(arg) * time.Millisecond
			case 5:
				now += time.Duration(1) << (arg % 58)
				now = min(now, 1<<60)
			case 6:
				if next := rules[int(arg)%len(rules)]; next != r {
					r, standing = next, nil
				}
				mustUpdate(t, l, r, now)
			case 7:
				used = int64(arg)
				acquire(now, 1<<(arg%40))
			}
			require.GreaterOrEqual(t, l.Usage(now), 0.0)
			l.Limit(now)
			l.Idle(now)
			checkBound(t, l.state.Load(), r, standing)
		}
	})
}

// checkBound checks what a rule let pass against its bound.
func checkBound(t *testing.T, s *state, r Rule, standing []held) {
	r = r.withDefaults()
	as := make([]admission, len(standing))
	for i, h := range standing {
		as[i] = h.admission
	}
	switch {
	case s.law == exact || s.law == moving:
		n, per := whole(max(r.Limit, r.Memory.LowLimit), r.Per)
		require.LessOrEqual(t, worst(as, per), n)
		if n > 0 {
			require.Equal(t, s.cur.Load()/s.unit, s.tokens())
		}
	case r.Mode == Smooth:
		requireSmooth(t, as[max(0, len(as)-20):], int64(r.Burst), r.Limit, r.Per)
	default:
		gap := time.Duration(float64(r.Per) / r.Limit)
		for i, a := range as {
			for _, b := range as[:i] {
				if d := a.at - b.at; d >= 0 {
					require.GreaterOrEqual(t, d, time.Duration(a.cost)*gap, "%v", r)
				} else {
					require.GreaterOrEqual(t, -d, time.Duration(b.cost)*gap, "%v", r)
				}
			}
		}
	}
}

// TestBitsOfWords checks that the fields of a word do not overlap, and that stamps are fine enough, for every limit.
func TestBitsOfWords(t *testing.T) {
	t.Parallel()
	for _, per := range []time.Duration{time.Millisecond, time.Second, 24 * time.Hour, maxInterval} {
		for n := int64(1); n < 1e12; n += 1 + n/7 {
			l := newLayout(n, 0, per)
			require.LessOrEqual(t, int(l.stampBits)+int(l.shareBits)+bits.Len64(uint64(l.maxShare()*l.unit)), fieldBits)
			require.GreaterOrEqual(t, uint64(1)<<(64-l.wrap-1), uint64(per)*spans/2, "%d per %v", n, per)
			require.LessOrEqual(t, time.Duration(1)<<l.tick, 1+per/500, "%d per %v", n, per)
			require.Less(t, n-n/l.unit*l.unit, 1+n/2000)
			x := l.word(5, 0, l.maxShare(), 3*per)
			require.Equal(t, l.maxShare(), l.share(x))
			require.Equal(t, l.maxShare()*l.unit, l.free(x))
			require.InDelta(t, float64(per), float64(l.age(x, 4*per)), float64(int64(1)<<l.tick))
			require.Equal(t, uint64(5), x>>lapShift)
		}
	}
}
