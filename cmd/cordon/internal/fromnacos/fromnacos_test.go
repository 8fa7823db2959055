package fromnacos

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/gateway"
	"github.com/cordon-go/cordon/sentinel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is a gateway's that takes rules from a server that nobody runs.
func config(n gateway.Nacos, rules ...gateway.RuleSource) gateway.Config {
	n.Servers = []string{"127.0.0.1:1?grpc=2"}
	return gateway.Config{
		Nacos: n, Rules: rules, Routes: []gateway.Route{{Name: "r", Upstreams: []gateway.Upstream{{URL: "http://127.0.0.1:1"}}}},
	}
}

// A gateway with a document on a server, and all there is to say of the server, starts though that is not there.
func TestGatewayStarts(t *testing.T) {
	t.Setenv("FROMNACOS_TEST", "s3cret")
	g, err := gateway.New(config(
		gateway.Nacos{Namespace: "ns", Username: "ann", PasswordEnv: "FROMNACOS_TEST", Timeout: 50 * time.Millisecond, Reread: time.Second, TLS: gateway.NacosTLS{ServerName: "x"}},
		gateway.RuleSource{Nacos: gateway.NacosDocument{DataID: "a.yaml", Group: "G", EmptyClears: true}},
		gateway.RuleSource{Nacos: gateway.NacosDocument{DataID: "b.json"}, Format: gateway.Sentinel, Kind: sentinel.Flow},
	), Option(nil))
	require.NoError(t, err)
	defer g.Close()
	sources := g.Engine().Snapshot().Sources
	require.Equal(t, "nacos:ns/G/a.yaml", sources[0].Source)
	require.Equal(t, "nacos:ns/DEFAULT_GROUP/b.json", sources[1].Source)
	for _, s := range sources[:2] {
		require.NotEmpty(t, s.LastError)
		require.NotContains(t, s.LastError, "s3cret")
	}
}

// What stands for a document that was deleted is one that its decoder reads.
func TestEmptyDocuments(t *testing.T) {
	d, err := cordon.Native("x", []byte(emptyDocument(gateway.Native)))
	require.NoError(t, err)
	require.Empty(t, d.Problems)
	d, err = sentinel.Decoder(sentinel.Flow)("x", []byte(emptyDocument(gateway.Sentinel)))
	require.NoError(t, err)
	require.Empty(t, d.Problems)
}

// An app stands for a document of every kind that Sentinel Java has, whose kinds its reader knows.
func TestSourcesOfAnApp(t *testing.T) {
	made, err := nacos.New(nacos.Config{Servers: []string{"127.0.0.1:1"}})
	require.NoError(t, err)
	defer made.Close()
	list, err := client{made}.Sources(gateway.RuleSource{Nacos: gateway.NacosDocument{App: "shop", Group: "SENTINEL_GROUP", EmptyClears: true}})
	require.NoError(t, err)
	kinds := map[sentinel.Kind]string{}
	for _, s := range list {
		require.True(t, s.Kind.Supported())
		kinds[s.Kind] = s.Source.Name()
	}
	require.Equal(t, map[sentinel.Kind]string{
		sentinel.Flow:      "nacos:public/SENTINEL_GROUP/shop-flow-rules",
		sentinel.Breaker:   "nacos:public/SENTINEL_GROUP/shop-degrade-rules",
		sentinel.Param:     "nacos:public/SENTINEL_GROUP/shop-param-rules",
		sentinel.System:    "nacos:public/SENTINEL_GROUP/shop-system-rules",
		sentinel.Authority: "nacos:public/SENTINEL_GROUP/shop-authority-rules",
		sentinel.Gateway:   "nacos:public/SENTINEL_GROUP/shop-gateway-flow-rules",
		sentinel.API:       "nacos:public/SENTINEL_GROUP/shop-gateway-api-rules",
	}, kinds)
}

// What cannot be right is told at the start, and no secret with it.
func TestFaults(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	for says, n := range map[string]gateway.Nacos{
		"nacos.passwordFile: open":         {Username: "ann", PasswordFile: none},
		"FROMNACOS_NONE is not set":        {TokenEnv: "FROMNACOS_NONE"},
		"none":                             {Username: "ann", PasswordFile: secret, TLS: gateway.NacosTLS{CA: none}},
		"rules[0].nacos: gateway: nacos.t": {TokenFile: none},
	} {
		_, err := gateway.New(config(n, gateway.RuleSource{Nacos: gateway.NacosDocument{DataID: "a"}}), Option(nil))
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "s3cret")
	}
}
