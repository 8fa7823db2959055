package datasource_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
)

// faults #64 (last good kept, and it is told): every field after every kind of event.
func TestHealthTellsExactly(t *testing.T) {
	pumping(t, datasource.PumpOptions{}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		want := datasource.Health{Source: "feed", Running: true}
		require.Equal(t, want, p.Health())

		rest(time.Second)
		f.fail(fmt.Errorf("wrapped: %w", datasource.ErrAbsent))
		rest(time.Second)
		want.LastFailure, want.Failures = a.began.Add(time.Second), 1
		requireHealth(t, want, datasource.ErrAbsent, p)

		f.say("a")
		rest(time.Second)
		want.Version, want.Applied, want.LastSuccess, want.Updates = "v-a", a.began.Add(2*time.Second), a.began.Add(2*time.Second), 1
		requireHealth(t, want, nil, p)

		f.say("bad")
		rest(time.Second)
		want.LastFailure, want.Failures = a.began.Add(3*time.Second+50*time.Millisecond), 2
		requireHealth(t, want, errRefused, p)

		f.fail(errBroken)
		rest(time.Second)
		want.LastFailure, want.Failures = a.began.Add(4*time.Second), 3
		requireHealth(t, want, errBroken, p)

		f.say("bad") // nothing new, but what is wrong now
		rest(time.Second)
		requireHealth(t, want, errRefused, p)

		f.say("a") // back to what is in force
		rest(time.Second)
		want.LastSuccess = a.began.Add(6 * time.Second)
		requireHealth(t, want, nil, p)

		f.say("b")
		rest(time.Second)
		want.Version, want.Updates = "v-b", 2
		want.LastSuccess, want.Applied = a.began.Add(7*time.Second), a.began.Add(7*time.Second+50*time.Millisecond)
		requireHealth(t, want, nil, p)

		require.NoError(t, p.Close())
		want.Running = false
		requireHealth(t, want, nil, p)
	})
}

// requireHealth compares all but the error, and asks whether that is wantErr.
func requireHealth(t *testing.T, want datasource.Health, wantErr error, p *datasource.Pump) {
	t.Helper()
	got := p.Health()
	if wantErr == nil {
		require.NoError(t, got.LastError)
	} else {
		require.ErrorIs(t, got.LastError, wantErr)
		require.ErrorContains(t, got.LastError, got.Source)
	}
	for _, pair := range [][2]*time.Time{
		{&want.Applied, &got.Applied}, {&want.LastSuccess, &got.LastSuccess}, {&want.LastFailure, &got.LastFailure},
	} {
		require.True(t, pair[0].Equal(*pair[1]), "want %v, got %v", *pair[0], *pair[1])
		*pair[0] = *pair[1]
	}
	want.LastError = got.LastError
	require.Equal(t, want, got)
}

// The order in which the source spoke decides: a failure that came after a document is shown although the document was applied after it.
func TestFailureAfterDeliveryOutlivesItsApplying(t *testing.T) {
	pumping(t, datasource.PumpOptions{}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
		f.say("a")
		synctest.Wait()
		f.say("b")
		rest(time.Millisecond)
		f.fail(errBroken)
		rest(time.Second)
		h := p.Health()
		require.Equal(t, "v-b", h.Version)
		require.ErrorIs(t, h.LastError, errBroken)
		require.True(t, h.LastSuccess.Before(h.LastFailure))

		f.say("bad")
		rest(time.Millisecond)
		f.fail(errBroken)
		rest(time.Second)
		require.ErrorIs(t, p.Health().LastError, errBroken, "not the older document's refusal")
		require.EqualValues(t, 3, p.Health().Failures)
	})
}

// A model without any waiting says what is offered and what Health shows, over random events.
func TestPumpAgainstModel(t *testing.T) {
	for seed := range uint64(60) {
		pumping(t, datasource.PumpOptions{Debounce: -1}, func(t *testing.T, f feed, a *applier, p *datasource.Pump) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			contents := []string{"", "a", "b", "bad 1", "bad 2"}
			var (
				inForce, lastOffered    *string
				offered                 []string
				updates, failures       int64
				wantErr, lastRefusalErr error
			)
			for range 60 {
				if rnd.IntN(5) == 0 {
					f.fail(errBroken)
					failures++
					wantErr = errBroken
				} else {
					c := contents[rnd.IntN(len(contents))]
					f.say(c)
					switch {
					case inForce != nil && *inForce == c:
						lastOffered, wantErr = &c, nil
					case lastOffered != nil && *lastOffered == c:
						wantErr = lastRefusalErr
					default:
						lastOffered = &c
						offered = append(offered, c)
						if isBad(c) {
							failures++
							wantErr, lastRefusalErr = errRefused, errRefused
						} else {
							inForce, wantErr = &c, nil
							updates++
						}
					}
				}
				synctest.Wait()
				h := p.Health()
				require.Equal(t, updates, h.Updates)
				require.Equal(t, failures, h.Failures)
				if inForce != nil {
					require.Equal(t, "v-"+*inForce, h.Version)
				}
				require.ErrorIs(t, h.LastError, wantErr)
			}
			require.Equal(t, offered, a.took())
		})
	}
}
