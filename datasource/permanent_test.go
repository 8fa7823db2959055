package datasource_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
)

// What no attempt mends is told at once, and not tried again; what has come before, and what is kept, stays.
func TestPermanent(t *testing.T) {
	require.NoError(t, datasource.Permanent(nil))
	require.False(t, datasource.IsPermanent(errBroken))
	path := filepath.Join(t.TempDir(), "last")
	fails := func(say string, watches *int) sourceFunc {
		return func(_ context.Context, deliver func(datasource.Update)) error {
			*watches++
			if say != "" {
				deliver(datasource.Update{Document: datasource.Document{Data: []byte(say)}})
			}
			return fmt.Errorf("watch: %w", datasource.Permanent(errBroken))
		}
	}
	for _, test := range []struct {
		name, say, path string
		calls           []string
		stale           bool
	}{
		{"at once", "", "", nil, false},
		{"with nothing kept", "", path, nil, false},
		{"after a document", "a", "", []string{"a"}, false},
		{"after a document that is kept", "a", path, []string{"a"}, false},
		{"with a document kept", "", path, []string{"a"}, true},
		{"after a bad document", "bad", "", []string{"bad"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, watches, began := newApplier(), 0, time.Now()
				p := datasource.Start(t.Context(), fails(test.say, &watches), a.apply, datasource.PumpOptions{LastGood: test.path})
				err := p.First(context.Background())
				switch {
				case test.calls == nil:
					require.ErrorIs(t, err, errBroken)
					require.True(t, datasource.IsPermanent(err))
				case test.say == "bad":
					require.Error(t, err)
				default:
					require.NoError(t, err)
				}
				synctest.Wait()
				require.Zero(t, time.Since(began))
				h := p.Health()
				require.False(t, h.Running, "it has ended by itself")
				require.EqualError(t, h.LastError, "test: watch: broken")
				require.Equal(t, test.stale, h.Stale)
				require.Equal(t, test.calls, a.took())
				require.Equal(t, 1, watches)
				require.NoError(t, p.Close())
			})
		})
	}
}
