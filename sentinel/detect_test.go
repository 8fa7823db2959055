package sentinel_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

func TestKindOfName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]sentinel.Kind{
		"x.flow.json":                         sentinel.Flow,
		"app-flow-rules":                      sentinel.Flow,
		"shop_flow_rules.json":                sentinel.Flow,
		"FlowRule.json":                       sentinel.Flow,
		"flowrules.json":                      sentinel.Flow,
		"/etc/param/flow.json":                sentinel.Flow,
		"app-degrade-rules":                   sentinel.Breaker,
		"app.degrade.json":                    sentinel.Breaker,
		"DegradeRule.json":                    sentinel.Breaker,
		"CircuitBreakerRule.json":             sentinel.Breaker,
		"circuitbreaker.json":                 sentinel.Breaker,
		"flow-service-degrade-rules":          sentinel.Breaker,
		"x.isolation.json":                    sentinel.Isolation,
		"IsolationRule.json":                  sentinel.Isolation,
		"app-param-rules":                     sentinel.Param,
		"app-param-flow-rules":                sentinel.Param,
		"HotSpotParamFlowRule.json":           sentinel.Param,
		"hotspot-flow.json":                   sentinel.Param,
		"app-system-rules":                    sentinel.System,
		"SystemRule2.json":                    sentinel.System,
		"app-authority-rules":                 sentinel.Authority,
		"app-gateway-flow-rules":              sentinel.Gateway,
		"app-gateway-api-definition-rules":    sentinel.API,
		"app-gateway-api-rules":               sentinel.API,
		"app-gw-api-group-rules":              sentinel.API,
		"app-gw-flow":                         sentinel.Gateway,
		"ApiDefinitions.json":                 sentinel.API,
		"shop.apis.json":                      sentinel.API,
		"orders-api-flow-rules":               sentinel.Flow,
		"orders-api-system-rules":             sentinel.System,
		"gateway-api/flow.json":               sentinel.Flow,
		"outlier.json":                        sentinel.Outlier,
		"WORKFLOW-DEGRADE-RULES":              sentinel.Breaker,
		"workflows/orders-IsolationRule.json": sentinel.Isolation,
	} {
		kind, err := sentinel.KindOf(name, nil)
		require.NoError(t, err, name)
		require.Equal(t, want, kind, name)
	}
	for _, name := range []string{"rules.json", "", "workflow.json", "parameters.json", "-"} {
		_, err := sentinel.KindOf(name, nil)
		require.ErrorIs(t, err, sentinel.ErrKindUnknown, name)
	}
}

func TestKindOfKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]sentinel.Kind{
		`[{"resource":"r","count":1}]`:                                      sentinel.Flow,
		`[null,{"resource":"r"},{"resource":"r","count":1,"grade":0}]`:      sentinel.Flow,
		`[{"resource":"r","threshold":1,"statIntervalInMs":1}]`:             sentinel.Flow,
		`[{"resource":"r","threshold":1,"controlBehavior":1}]`:              sentinel.Flow,
		`[{"resource":"r","threshold":1},{"resource":"r","refResource":1}]`: sentinel.Flow,
		`[{"resource":"r","count":1,"timeWindow":1}]`:                       sentinel.Breaker,
		`[{"resource":"r","threshold":1,"RETRY_TIMEOUT_MS":1}]`:             sentinel.Breaker,
		`[{"resource":"r","paramIdx":0,"count":1}]`:                         sentinel.Param,
		`[{"app":"x","rule":{"resource":"r","paramIdx":0,"count":1}}]`:      sentinel.Param,
		`[{"qps":1}]`: sentinel.System,
		`[{"metricType":3,"triggerCount":1,"strategy":1}]`:                       sentinel.System,
		`[{"resource":"r","limitApp":"a","strategy":0}]`:                         sentinel.Authority,
		`[{"resource":"r","count":1,"resourceMode":0}]`:                          sentinel.Gateway,
		`[{"apiName":"r","predicateItems":[]}]`:                                  sentinel.API,
		`[{"metricType":0,"adaptiveStrategy":1}]`:                                sentinel.System,
		`{"apiVersion":"datasource.sentinel.io/v1alpha1","kind":"HotspotRules"}`: sentinel.Param,
		`[{"retryTimeoutMs":1,"enableActiveRecovery":true}]`:                     sentinel.Outlier,
		`[{"resource":"r","threshold":1},{"metricType":1,"triggerCount":1}]`:     sentinel.System,
	} {
		kind, err := sentinel.KindOf("rules.json", node(t, text))
		require.NoError(t, err, text)
		require.Equal(t, want, kind, text)
	}
	for text, message := range map[string]string{
		`[]`: "rules.json: cannot tell what kind of Sentinel rules this is: the name has none of the words flow, degrade, isolation ..., and no key decides; " +
			"want the kind to be said, or a name such as app.flow.json",
		`[{"resource":"r","threshold":1}]`:                             "by its keys it may be flow or isolation",
		`[{"resource":"r","threshold":1,"metricType":0}]`:              "by its keys it may be isolation or param",
		`[{"resource":"r","count":1},{"resource":"r","timeWindow":1}]`: "by its keys it may be flow or breaker",
		`[{"resource":"r"}]`:                                           "no key decides",
		`{"resource":"r","count":1}`:                                   "no key decides",
		`[7]`:                                                          "no key decides",
	} {
		_, err := sentinel.KindOf("rules.json", node(t, text))
		require.ErrorIs(t, err, sentinel.ErrKindUnknown, text)
		require.ErrorContains(t, err, message, text)
	}
	// The name wins, and every document of the tests has its kind in its name.
	kind, err := sentinel.KindOf("x.degrade.json", node(t, `[{"resource":"r","count":1}]`))
	require.NoError(t, err)
	require.Equal(t, sentinel.Breaker, kind)
	files, err := os.ReadDir("testdata")
	require.NoError(t, err)
	for _, f := range files {
		if !f.IsDir() {
			_, err := sentinel.KindOf(f.Name(), nil)
			require.NoError(t, err)
		}
	}
}

func node(t *testing.T, text string) *rule.Node {
	t.Helper()
	n, err := rule.ParseJSON([]byte(text), rule.ParseOptions{Lenient: true, AllowDuplicates: true})
	require.NoError(t, err)
	return n
}

func TestNames(t *testing.T) {
	t.Parallel()
	for k := sentinel.Flow; k <= sentinel.Outlier; k++ {
		text, err := k.MarshalText()
		require.NoError(t, err)
		var back sentinel.Kind
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, k, back)
		require.Equal(t, k.String(), k.Values()[k-1])
	}
	var k sentinel.Kind
	require.NoError(t, k.UnmarshalText([]byte("Degrade")))
	require.Equal(t, sentinel.Breaker, k)
	require.EqualError(t, k.UnmarshalText([]byte("x")),
		`sentinel: no kind of rules "x"; want one of flow, breaker, isolation, param, system, authority, gateway, api, outlier`)
	for _, bad := range []sentinel.Kind{0, 99} {
		_, err := bad.MarshalText()
		require.Error(t, err)
		require.Contains(t, bad.String(), "Kind(")
	}
	for d := sentinel.Auto; d <= sentinel.CRD; d++ {
		text, err := d.MarshalText()
		require.NoError(t, err)
		var back sentinel.Dialect
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, d, back)
		require.Equal(t, d.String(), d.Values()[d])
	}
	var d sentinel.Dialect
	require.NoError(t, d.UnmarshalText([]byte("JAVA")))
	require.Equal(t, sentinel.Java, d)
	require.EqualError(t, d.UnmarshalText([]byte("x")), `sentinel: no dialect "x"; want one of auto, java, go, crd`)
	for _, word := range []string{"crd", "K8s", "kubernetes"} {
		require.NoError(t, d.UnmarshalText([]byte(word)))
		require.Equal(t, sentinel.CRD, d)
	}
	for word, kind := range map[string]sentinel.Kind{
		"gateway-flow": sentinel.Gateway, "gw-flow": sentinel.Gateway, "gateway-api": sentinel.API, "gatewayApi": sentinel.API, "apiDefinition": sentinel.API, "api_definitions": sentinel.API,
		"gw-api-group": sentinel.API, "api": sentinel.API, "param-flow": sentinel.Param,
	} {
		require.NoError(t, k.UnmarshalText([]byte(word)))
		require.Equal(t, kind, k, word)
	}
	_, err := sentinel.Dialect(9).MarshalText()
	require.Error(t, err)
	require.Equal(t, "Dialect(9)", sentinel.Dialect(9).String())
}
