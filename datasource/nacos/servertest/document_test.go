package servertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/scripts/nacosserver"
	"github.com/cordon-go/cordon/sentinel"
)

func absent(err error) bool { return errors.Is(err, datasource.ErrAbsent) }

// What is there is in force when Watch returns, and so is every edit after.
func TestFirstDocumentAndEdits(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(10))
	f := followNow(t, connect(t, s.Address()).Source(d.DataID))
	require.Equal(t, 10, f.limit())
	require.Equal(t, "nacos:public/DEFAULT_GROUP/FirstDocumentAndEdits", f.watch.Health().Source)
	for limit := 11; limit <= 13; limit++ {
		publish(t, d, limited(limit))
		f.await(t, limit)
	}
	require.Equal(t, []int{10, 11, 12, 13}, f.delivered())
}

// A service may be there before its rules are.
func TestDocumentComesLater(t *testing.T) {
	s, d := realServer(t), document(t)
	f, err := follow(t, connect(t, s.Address()).Source(d.DataID))
	require.ErrorIs(t, err, datasource.ErrAbsent)
	publish(t, d, limited(10))
	f.await(t, 10)
	f.well(t)
}

// Garbage leaves what is in force as it is, and says what is wrong (faults #62, #63).
func TestGarbage(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(10))
	f := followNow(t, connect(t, s.Address()).Source(d.DataID))
	shop := f.shop(t)
	shop.usedUp(t, 10)
	for garbage, says := range map[string]string{
		"<html>502 Bad Gateway</html>":                             "",
		"cordon: 1\nflow: [{id: shop, resource: shop, limti: 5}]":  "limti",
		"cordon: 1\nflow: [{id: shop, resource: shop, limit: -3}]": "limit",
		"[{\"resource\": \"shop\", \"count\": 5, \"grade\": 1":     "",
		"\x00\x01\x02":            "",
		limited(99) + "flow: [\n": "",
	} {
		publish(t, d, garbage)
		f.fails(t, func(err error) bool {
			require.ErrorContains(t, err, says)
			return !absent(err)
		})
		require.Equal(t, 10, f.limit(), "%q", garbage)
		publish(t, d, limited(10))
		f.well(t)
	}
	publish(t, d, limited(12))
	f.await(t, 12)
	shop.usedUp(t, 12)
	require.Equal(t, 12, f.delivered()[len(f.delivered())-1])
}

// A deleted document is not one without rules; who wants none says so (faults #64).
func TestDeleteAndCreateAgain(t *testing.T) {
	s, d := realServer(t), document(t)
	begin(t, d, limited(10))
	client := connect(t, s.Address())
	f := followNow(t, client.Source(d.DataID))
	clears := followNow(t, client.Source(d.DataID, nacos.EmptyIs("cordon: 1\n")))
	shop := f.shop(t)
	shop.usedUp(t, 10)

	require.NoError(t, s.Delete(t.Context(), d))
	f.fails(t, absent)
	clears.await(t, -1)
	require.NoError(t, clears.watch.Health().LastError)

	publish(t, d, limited(11))
	f.await(t, 11)
	clears.await(t, 11)
	f.well(t)
	shop.usedUp(t, 11)
	require.Equal(t, []int{10, 11}, f.delivered())

	publish(t, d, "cordon: 1\n")
	f.await(t, -1)
	f.well(t)
}

// Documents of one id in several namespaces have nothing to do with each other, nor have those of several groups.
func TestNamespaces(t *testing.T) {
	s := realServer(t)
	places := []nacosserver.Document{
		{Group: nacos.DefaultGroup}, {Namespace: "team-a", Group: nacos.DefaultGroup}, {Namespace: "team-b", Group: nacos.DefaultGroup}, {Namespace: "team-b", Group: "G2"},
	}
	var followers []*follower
	for i := range places {
		places[i].DataID = "Namespaces"
		begin(t, places[i], limited(10+i))
		client := connect(t, s.Address(), func(c *nacos.Config) { c.Namespace = places[i].Namespace })
		followers = append(followers, followNow(t, client.Source("Namespaces", nacos.Group(places[i].Group))))
	}
	publish(t, places[2], limited(20))
	followers[2].await(t, 20)
	for i, want := range []int{10, 11, 20, 13} {
		require.Equal(t, want, followers[i].limit())
	}
	require.NoError(t, s.Delete(t.Context(), places[1]))
	followers[1].fails(t, absent)
	for _, i := range []int{0, 2, 3} {
		require.NoError(t, followers[i].watch.Health().LastError)
	}
}

// What Sentinel's dashboards keep comes in force as it is, each document by itself: one that is broken or missing takes nothing from the others.
func TestSentinelLayout(t *testing.T) {
	s := realServer(t)
	layout := func(suffix string) nacosserver.Document {
		return nacosserver.Document{Group: nacos.SentinelGroup, DataID: "checkout-" + suffix}
	}
	begin(t, layout("flow-rules"), `[{"resource":"pay","limitApp":"default","grade":1,"count":20,"strategy":0,"controlBehavior":0,"clusterMode":false}]`)
	begin(t, layout("degrade-rules"), `[{"resource":"pay","grade":1,"count":0.5,"timeWindow":10,"minRequestAmount":5,"statIntervalMs":1000}]`)
	begin(t, layout("param-rules"), `not JSON`)

	engine, err := cordon.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	watches := map[string]*cordon.Watch{}
	for _, d := range connect(t, s.Address()).Sentinel("checkout") {
		var kind sentinel.Kind
		require.NoError(t, kind.UnmarshalText([]byte(d.Kind)), d.Kind)
		w, err := engine.Watch(context.Background(), d.Source, sentinel.Decoder(kind), cordon.FirstWithin(0))
		require.NoError(t, err)
		watches[d.Kind] = w
	}
	inForce := func(h datasource.Health) bool { return h.Updates == 1 }
	lacks := func(h datasource.Health) bool { return h.Absent && h.LastError == nil } // which is no failure
	refused := func(h datasource.Health) bool { return !h.Absent && h.LastError != nil && !absent(h.LastError) }
	for kind, is := range map[string]func(datasource.Health) bool{"flow": inForce, "breaker": inForce, "authority": lacks, "system": lacks, "param": refused} {
		w := watches[kind]
		require.NotNil(t, w, kind)
		_, ok := eventually(func() bool { return is(w.Health()) })
		require.True(t, ok, "%s: %+v", kind, w.Health())
	}
	require.Len(t, engine.Rules().Flow, 1)
	require.Len(t, engine.Rules().Breaker, 1)

	publish(t, layout("flow-rules"), `[{"resource":"pay","limitApp":"default","grade":1,"count":25}]`)
	publish(t, layout("param-rules"), `[{"resource":"pay","grade":1,"paramIdx":0,"count":3}]`)
	_, ok := eventually(func() bool {
		rules := engine.Rules()
		return len(rules.Flow) == 1 && rules.Flow[0].Limit == 25 && len(rules.Param) == 1
	})
	require.True(t, ok)
	require.Len(t, engine.Rules().Breaker, 1)
}

// A client is told the truth about a document, and at once that there is none.
func TestGet(t *testing.T) {
	s, d := realServer(t), document(t)
	client := connect(t, s.Address())
	_, err := client.Get(t.Context(), d.Group, d.DataID)
	require.ErrorIs(t, err, datasource.ErrAbsent)
	publish(t, d, limited(10))
	_, ok := eventually(func() bool {
		c, err := client.Get(t.Context(), d.Group, d.DataID)
		return err == nil && string(c.Data) == limited(10) && len(c.MD5) == 32
	})
	require.True(t, ok)
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, err = client.Get(ctx, d.Group, d.DataID)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
