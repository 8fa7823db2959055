package demo

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/scripts/nacosserver"
)

// The chapters that edit the rules, with these on a real server: what they promise of a file holds there, and nothing is left behind.
func TestRulesOnANacosServer(t *testing.T) {
	if testing.Short() {
		t.Skip("a real server takes a while to start")
	}
	if why := nacosserver.WhySkip(); why != "" {
		t.Skip(why)
	}
	server, err := nacosserver.Start(filepath.Join(t.TempDir(), "nacos"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })

	var out bytes.Buffer
	var document nacosserver.Document
	var toEdit []string
	summary, err := perform(t.Context(), screen.New(&out), Options{Nacos: server.Address()}, []chapter{
		func(s *stage, _ context.Context) error {
			document = nacosserver.Document{Group: nacos.DefaultGroup, DataID: s.store.(*nacosStore).dataID}
			toEdit = s.store.toEdit()
			_, there, err := server.Read(t.Context(), document)
			require.NoError(t, err)
			require.True(t, there)
			return nil
		},
		(*stage).editedLive, (*stage).mistakeRefused,
	})
	require.NoError(t, err, out.String())
	address := " nacos://" + server.Address() + "/public/DEFAULT_GROUP/" + document.DataID
	require.Equal(t, []string{"cordon rules pull" + address + " >rules.yaml", "cordon rules push rules.yaml" + address}, toEdit)
	require.Empty(t, summary.Broken(), out.String())
	require.Contains(t, out.String(), "limit 200 → 80, published: in force after")
	require.Contains(t, out.String(), document.DataID+`:7:5: flow[0] (search): unknown field "limti"; did you mean "limit"?`)
	require.Eventually(t, func() bool {
		_, there, err := server.Read(t.Context(), document)
		return err == nil && !there
	}, 10*time.Second, 50*time.Millisecond)
}

// Where no server is nothing is played, and nothing said but why.
func TestNoNacosServer(t *testing.T) {
	var out bytes.Buffer
	_, err := perform(t.Context(), screen.New(&out), Options{Nacos: "127.0.0.1:1"}, nil)
	require.ErrorContains(t, err, "publishing the rules: nacos public/DEFAULT_GROUP/cordon-demo-")
	require.NotContains(t, err.Error(), "deleting")
	require.Empty(t, out.String())
	_, err = perform(t.Context(), screen.New(&out), Options{Nacos: "a b"}, nil)
	require.ErrorContains(t, err, "host:port")
}
