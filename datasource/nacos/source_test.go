package nacos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSourceDeliversWhatIsThereAndEveryChange(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Set(rules, "one")
		r := w.read(w.client(w.config()).Source("rules.yaml"))
		rest(0)
		require.Equal(t, []string{"0s one"}, r.timed())
		rest(time.Second)
		w.server.Set(rules, "two")
		rest(0)
		require.Equal(t, []string{"1s two"}, r.timed(), "at once, nothing is waited for")
		rest(time.Hour)
		require.Empty(t, r.took(), "identical content says nothing")
	})
}
