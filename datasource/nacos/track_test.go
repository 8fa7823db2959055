package nacos

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTrackSteps(t *testing.T) {
	const s = time.Second
	type step struct {
		at      time.Duration
		notice  bool
		md5     string // "fail" for a failure
		counts  bool
		nextDue time.Duration // 0: not looked at
	}
	for _, test := range []struct {
		name   string
		clears bool
		steps  []step
	}{
		{"first", false, []step{{0, false, "a", true, 0}}},
		{"first absent", false, []step{{0, false, "", false, 300 * time.Millisecond}, {300 * time.Millisecond, false, "", true, 0}}},
		{"absent for a moment", false, []step{{0, false, "", false, 300 * time.Millisecond}, {300 * time.Millisecond, false, "a", true, 0}}},
		{"absent, and told that it came", false, []step{{0, false, "", false, 300 * time.Millisecond}, {100 * time.Millisecond, true, "a", true, 1100 * time.Millisecond}}},
		{"absent, and could not be read again", false, []step{{0, false, "", false, 300 * time.Millisecond}, {300 * time.Millisecond, false, "fail", false, 0}, {2 * s, false, "", true, 0}}},
		{"same", false, []step{{0, false, "a", true, 0}, {5 * s, false, "a", false, 0}}},
		{"notice", false, []step{{0, false, "a", true, 0}, {5 * s, true, "b", true, 6 * s}, {6 * s, false, "b", false, 8 * s}, {8 * s, false, "b", false, 0}}},
		{"another notice begins anew", false, []step{{0, false, "a", true, 0}, {5 * s, true, "b", true, 6 * s}, {5500 * time.Millisecond, true, "c", true, 6500 * time.Millisecond}}},
		{"confirmed", false, []step{{0, false, "a", true, 0}, {5 * s, false, "b", false, 6 * s}, {6 * s, false, "b", true, 0}}},
		{"too early to confirm", false, []step{{0, false, "a", true, 0}, {5 * s, false, "b", false, 6 * s}, {5900 * time.Millisecond, false, "b", false, 6 * s}, {6 * s, false, "b", true, 0}}},
		{"not confirmed", false, []step{{0, false, "a", true, 0}, {5 * s, false, "b", false, 6 * s}, {6 * s, false, "a", false, 0}, {7 * s, false, "b", false, 8 * s}}},
		{"another rival", false, []step{{0, false, "a", true, 0}, {5 * s, false, "b", false, 6 * s}, {6 * s, false, "c", false, 7 * s}, {7 * s, false, "c", true, 0}}},
		{"always another", false, []step{{0, false, "a", true, 0}, {1 * s, false, "b", false, 2 * s}, {2 * s, false, "c", false, 3 * s}, {3 * s, false, "d", false, 4 * s}, {4 * s, false, "e", true, 0}}},
		{"notice of a rival", false, []step{{0, false, "a", true, 0}, {5 * s, false, "b", false, 6 * s}, {5100 * time.Millisecond, true, "b", true, 6100 * time.Millisecond}}},
		{"clearing is confirmed, with a notice too", true, []step{{0, false, "a", true, 0}, {5 * s, true, "", false, 6 * s}, {6 * s, false, "", true, 8 * s}}},
		{"clearing at first", true, []step{{0, false, "", false, s}, {s, false, "", true, 0}}},
		{"clearing after many", true, []step{{0, false, "a", true, 0}, {1 * s, false, "b", false, 0}, {2 * s, false, "c", false, 0}, {3 * s, false, "d", false, 0}, {4 * s, false, "", false, 5 * s}, {5 * s, false, "", true, 0}}},
		{"a notice that could not be acted on", false, []step{{0, false, "a", true, 0}, {5 * s, true, "fail", false, 0}, {7 * s, false, "b", true, 8 * s}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := track{emptyCounts: test.clears, reread: time.Minute}
			for i, step := range test.steps {
				k.noticed = step.notice
				noticed := k.begin(step.at)
				if step.md5 == "fail" {
					k.fail(step.at, noticed)
					continue
				}
				require.Equal(t, step.counts, k.take(step.at, step.md5, noticed, time.Hour), "step %d", i)
				if step.nextDue != 0 {
					require.Equal(t, step.nextDue, k.due(), "step %d", i)
				}
			}
		})
	}
}

// Failures are retried with growing pauses, a notice at once.
func TestTrackRetries(t *testing.T) {
	k := track{reread: time.Minute}
	now := time.Duration(0)
	for _, want := range []time.Duration{1, 2, 4, 5, 5} {
		noticed := k.begin(now)
		k.fail(now, noticed)
		require.InDelta(t, float64(want*time.Second), float64(k.due()-now), float64(want*time.Second)/5)
		k.suspected = true
		require.Greater(t, k.due(), now, "what is suspected does not come before that")
		now = k.due()
	}
	k.noticed = true
	require.Less(t, k.due(), now)
}

// A server whose answers are old for a while after a publish, and whose notices get lost: what counts never goes back, and the newest counts before long.
func TestTrackAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const stale = 900 * time.Millisecond
		ms := func(low, high int, label string) time.Duration {
			return time.Duration(rapid.IntRange(low, high).Draw(t, label)) * time.Millisecond
		}
		var published []time.Duration // when each version was
		k := track{reread: 30 * time.Second}
		now, counted := time.Duration(0), -1
		publish := func() { published = append(published, now) }
		publish()
		// read lets the server answer with the newest version, or with one that was the newest not long ago.
		read := func() {
			noticed := k.begin(now)
			oldest := len(published) - 1
			for oldest > 0 && published[oldest] > now-stale {
				oldest--
			}
			version := len(published) - 1
			if !noticed { // a notice comes once the server has stored what it is about
				version = rapid.IntRange(oldest, len(published)-1).Draw(t, "version")
			}
			if k.take(now, fmt.Sprint(version), noticed, 5*time.Minute) {
				if version < counted {
					t.Fatalf("version %d counts after %d", version, counted)
				}
				counted = version
			}
		}
		read()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				publish()
				k.noticed = true
			case 1:
				publish() // and the notice is lost
			case 2:
				now += ms(0, 3000, "pause")
			case 3:
				k.suspected = true // the server says that something has changed
			}
			for range 100 {
				if k.due() > now {
					break
				}
				read()
			}
		}
		now += stale
		k.suspected = true // as every Reread
		for end := now + 5*time.Second; now < end; now += 50 * time.Millisecond {
			if k.due() <= now {
				read()
			}
		}
		if counted != len(published)-1 {
			t.Fatalf("version %d counts, the newest is %d", counted, len(published)-1)
		}
	})
}

// Documents that are due together take turns, so that one that changes all the time is in nobody's way.
func TestDocumentsTakeTurns(t *testing.T) {
	busy, waiting, idle := &watch{}, &watch{}, &watch{}
	for i, w := range []*watch{busy, waiting, idle} {
		w.track = track{reread: time.Minute}
		w.track.take(time.Duration(i), "a", false, time.Hour)
	}
	all := []*watch{busy, waiting, idle}
	busy.track.noticed, waiting.track.noticed = true, true
	var read []*watch
	for now := time.Second; now < 5*time.Second; now += time.Second {
		next, due := (&service{}).urgent(all)
		require.LessOrEqual(t, due, now)
		read = append(read, next)
		next.track.take(now, "b", next.track.begin(now), time.Hour)
		busy.track.noticed = true
	}
	require.Equal(t, []*watch{busy, waiting, busy, busy}, read)
}
