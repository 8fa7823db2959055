package servertest

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos"
)

// What is published is in force where the document is followed, and what validation refuses is never stored.
func TestPublish(t *testing.T) {
	s, d := realServer(t), document(t)
	writer := connect(t, s.Address())
	require.NoError(t, writer.Publish(t.Context(), d.Group, d.DataID, []byte(limited(10)), nacos.IfMD5("")))
	served(t, d, limited(10))
	f := followNow(t, connect(t, s.Address()).Source(d.DataID))
	require.NoError(t, writer.Publish(t.Context(), d.Group, d.DataID, []byte(limited(11))))
	f.await(t, 11)

	bad := errors.New("limit: must not be 99")
	err := writer.Publish(t.Context(), d.Group, d.DataID, []byte(limited(99)), nacos.Validate(func(data []byte) error {
		require.Equal(t, limited(99), string(data))
		return bad
	}))
	require.ErrorIs(t, err, bad)
	require.NoError(t, writer.Delete(t.Context(), d.Group, d.DataID))
	f.fails(t, absent)
	require.Equal(t, []int{10, 11}, f.delivered())
}

// Of several who publish on the ground of one version one succeeds, and the others are told so.
func TestConflict(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(10))
	client := connect(t, s.Address())
	var before nacos.Content
	_, ok := eventually(func() bool {
		c, err := client.Get(t.Context(), d.Group, d.DataID)
		before = c
		return err == nil && string(c.Data) == limited(10)
	})
	require.True(t, ok)

	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		writer := connect(t, s.Address())
		wg.Go(func() {
			errs[i] = writer.Publish(t.Context(), d.Group, d.DataID, []byte(limited(20+i)), nacos.IfMD5(before.MD5))
		})
	}
	wg.Wait()
	var won []int
	for i, err := range errs {
		if err == nil {
			won = append(won, 20+i)
			continue
		}
		var conflict *nacos.ConflictError
		require.ErrorAs(t, err, &conflict)
		require.ErrorIs(t, err, nacos.ErrConflict)
		require.Equal(t, before.MD5, conflict.Want)
		require.Equal(t, d.DataID, conflict.DataID)
	}
	require.Len(t, won, 1)
	f := followNow(t, client.Source(d.DataID))
	f.await(t, won[0])

	err := client.Publish(t.Context(), d.Group, d.DataID, []byte(limited(30)), nacos.IfMD5(""))
	require.ErrorIs(t, err, nacos.ErrConflict, "it is there")
	require.NotErrorIs(t, err, datasource.ErrAbsent)
	require.Equal(t, won[0], f.limit())
}

// Of several who create one document at once one succeeds, and the others are told so.
func TestCreateAtOnce(t *testing.T) {
	s := realServer(t)
	var writers []*nacos.Client
	for range 6 {
		w := connect(t, s.Address())
		_, err := w.Get(t.Context(), nacos.DefaultGroup, "none") // connects, so that all publish at the same moment
		require.ErrorIs(t, err, datasource.ErrAbsent)
		writers = append(writers, w)
	}
	for round := range 5 {
		d := document(t)
		d.DataID += strconv.Itoa(round)
		errs := make([]error, len(writers))
		var wg sync.WaitGroup
		for i, w := range writers {
			wg.Go(func() { errs[i] = w.Publish(t.Context(), d.Group, d.DataID, []byte(limited(20+i)), nacos.IfMD5("")) })
		}
		wg.Wait()
		now, err := writers[0].Get(t.Context(), d.Group, d.DataID)
		require.NoError(t, err)
		for i, err := range errs {
			if string(now.Data) == limited(20+i) {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, nacos.ErrConflict)
			}
		}
	}
}

// Right after a publish servers give out what was before it. Whoever reads often, or reads again, must not go back.
func TestNeverBack(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(1))
	writer := connect(t, s.Address())
	often := func(c *nacos.Config) { c.Reread = 100 * time.Millisecond }
	f := followNow(t, connect(t, s.Address(), often).Source(d.DataID))
	for limit := 2; limit <= 12; limit++ {
		require.NoError(t, writer.Publish(t.Context(), d.Group, d.DataID, []byte(limited(limit))))
		f.await(t, limit)
	}
	// The re-reads of the last edit are over after 3 s; all this time nothing else may be delivered.
	quiet(4 * rereadAfter)
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, f.delivered())
}

// Who starts right after a publish may be given what was before it, and then what is.
func TestStartRightAfterPublish(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(1))
	for limit := 2; limit <= 6; limit++ {
		publish(t, d, limited(limit))
		f := followNow(t, connect(t, s.Address()).Source(d.DataID))
		f.await(t, limit)
		require.Subset(t, []int{limit - 1, limit}, f.delivered())
	}
}
