package worlds_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

// impatient is Cordon for clients that give up before any deadline of the host's comes: what they waited for in vain is abandoned.
type impatient struct{ sim.Cordon }

func (p impatient) Open(e sim.Environment) (sim.Session, error) {
	s, err := p.Cordon.Open(e)
	return impatientSession{s}, err
}

type impatientSession struct{ sim.Session }

func (s impatientSession) Done(now time.Duration, c sim.Choice, o isolation.Outcome, latency time.Duration) {
	if o == isolation.Failure && latency >= time.Second { // the worlds' timeout
		o = isolation.Abandoned
	}
	s.Session.Done(now, c, o, latency)
}

// An instance that hangs is found although nobody waits for it to the end, as soon as by deadlines; and all that hang for a minute are nobody's fault.
func TestImpatientClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		world string
		found time.Duration
		tries int64
	}{{"B1", 2500 * time.Millisecond, 50}, {"B10", 0, 0}} {
		t.Run(c.world, func(t *testing.T) {
			t.Parallel()
			list := run(t, named(t, c.world), impatient{}, theTier().pick(5))
			for i := range list {
				if c.found > 0 {
					require.LessOrEqual(t, list[i].Found, c.found, "seed %d", firstSeed+i)
					require.LessOrEqual(t, list[i].Tries, c.tries, "seed %d", firstSeed+i)
				}
				require.Zero(t, list[i].NoInstance)
			}
			require.LessOrEqual(t, falseOnes(list), 1)
			t.Logf("%+v", list)
		})
	}
}
