package servertest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos"
)

// quick makes a client notice soon what it would notice after a while.
func quick(c *nacos.Config) { c.Timeout, c.Reread = time.Second, 2*time.Second }

// unreachable fits the errors of a server that cannot be asked.
func unreachable(err error) bool { return !absent(err) }

// Nobody listens where the server should be: a service starts with the rules that it had last, which are stale until the server is there (faults #66).
func TestColdStart(t *testing.T) {
	s, d := realServer(t), document(t)
	lastGood := filepath.Join(t.TempDir(), "rules.last-good")
	begin(t, d, limited(10))
	before := followNow(t, connect(t, s.Address()).Source(d.DataID), cordon.LastGood(lastGood))
	require.NoError(t, before.engine.Close())
	require.FileExists(t, lastGood)

	n := newNetwork(t, s, cut)
	client := connect(t, n.address(), quick)
	without, err := follow(t, client.Source(d.DataID), cordon.FirstWithin(2*time.Second))
	require.Error(t, err)
	require.NotErrorIs(t, err, datasource.ErrAbsent)
	require.Equal(t, -1, without.limit())
	f := followNow(t, client.Source(d.DataID), cordon.LastGood(lastGood))
	require.Equal(t, 10, f.limit())
	require.True(t, f.watch.Health().Stale)
	require.True(t, f.engine.Snapshot().Sources[0].Stale)
	shop := f.shop(t)
	shop.usedUp(t, 10)

	publish(t, d, limited(12))
	n.turn(whole)
	f.await(t, 12)
	without.await(t, 12)
	require.False(t, f.watch.Health().Stale)
	f.well(t)
	shop.usedUp(t, 12)
}

// A server that takes connections and never answers holds up neither the start nor the end of a service, nor what is in force.
func TestServerThatNeverAnswers(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(10))
	n := newNetwork(t, s, silent)
	client := connect(t, n.address(), quick)

	began := time.Now()
	f, err := follow(t, client.Source(d.DataID), cordon.FirstWithin(time.Second))
	require.Error(t, err)
	_, err = client.Get(t.Context(), d.Group, d.DataID)
	require.Error(t, err)
	require.NotErrorIs(t, err, datasource.ErrAbsent)
	err = client.Publish(t.Context(), d.Group, d.DataID, []byte(limited(99)))
	require.Error(t, err)
	require.Less(t, time.Since(began), patience)
	f.fails(t, unreachable)

	ends, err := nacos.New(nacos.Config{Servers: []string{n.address()}})
	require.NoError(t, err)
	engine, err := cordon.New()
	require.NoError(t, err)
	_, err = engine.Watch(context.Background(), ends.Source(d.DataID), cordon.Native, cordon.FirstWithin(0))
	require.NoError(t, err)
	began = time.Now()
	require.NoError(t, errors.Join(engine.Close(), ends.Close()))
	require.Less(t, time.Since(began), patience/3)

	n.turn(whole)
	f.await(t, 10)
	f.well(t)
}

// The network falls silent under a connection, and then is cut: what is in force stays, and what was edited meanwhile comes in force when it is whole.
func TestNetworkFails(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(10))
	n := newNetwork(t, s, whole)
	f := followNow(t, connect(t, n.address(), quick).Source(d.DataID))
	shop := f.shop(t)
	shop.usedUp(t, 10)
	limit := 10
	for _, failure := range []condition{silent, cut} {
		n.turn(failure)
		f.fails(t, unreachable)
		limit++
		publish(t, d, limited(limit))
		quiet(rereadAfter)
		require.Equal(t, limit-1, f.limit())
		n.turn(whole)
		mended := time.Now()
		back := rounded(f.await(t, limit).Sub(mended))
		figure(t, map[condition]string{silent: "network silent, then whole → edit in force", cut: "network cut, then whole → edit in force"}[failure], back, "")
		f.well(t)
		shop.usedUp(t, limit)
	}
	require.Equal(t, []int{10, 11, 12}, f.delivered())
}

// The server is killed and comes back, with its data and without: protection is never lost, and edits come in force again (faults #64, #66).
func TestServerKilled(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(10))
	client := connect(t, s.Address(), quick)
	f := followNow(t, client.Source(d.DataID))
	shop := f.shop(t)
	shop.usedUp(t, 10)

	require.NoError(t, s.Kill())
	f.fails(t, unreachable)
	_, err := client.Get(t.Context(), d.Group, d.DataID)
	require.Error(t, err, "what was known before is no answer")
	require.NotErrorIs(t, err, datasource.ErrAbsent)
	require.NoError(t, s.Start())
	ready := time.Now()
	f.well(t)
	require.Equal(t, 10, f.limit())
	back := time.Now()
	publish(t, d, limited(11))
	edited := f.await(t, 11)
	figure(t, "restarted with its data, ready → followed again", rounded(back.Sub(ready)), "")
	figure(t, "  the next edit over HTTP → in force", rounded(edited.Sub(back)), "")
	shop.usedUp(t, 11)

	require.NoError(t, s.Kill())
	require.NoError(t, s.Wipe())
	require.NoError(t, s.Start())
	f.fails(t, absent)
	quiet(4 * rereadAfter)
	require.Equal(t, 11, f.limit(), "a server that lost its data does not end protection")
	publish(t, d, limited(12))
	edited = time.Now()
	figure(t, "restarted empty, restored → in force", rounded(f.await(t, 12).Sub(edited)), "")
	f.well(t)
	shop.usedUp(t, 12)
	require.Equal(t, []int{10, 11, 12}, f.delivered())
}
