package cordongrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/serviceconfig"

	"github.com/cordon-go/cordon/balance"
)

// policyConfig is what a service config says.
type policyConfig struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	Service   string   `json:"service"`
	Strategy  strategy `json:"strategy"`
	HashKey   string   `json:"hashKey"`
	LoadBound float64  `json:"loadBound"`
	Region    string   `json:"region"`
}

// parsePolicy reads a config strictly.
func parsePolicy(data json.RawMessage) (*policyConfig, error) {
	c := &policyConfig{}
	if len(bytes.TrimSpace(data)) == 0 {
		return c, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%w; its members are service, strategy, hashKey, loadBound and region", err)
	}
	c.HashKey = strings.ToLower(c.HashKey)
	hashes := balance.Strategy(c.Strategy) == balance.ConsistentHash
	switch {
	case hashes && c.HashKey == "":
		return nil, fmt.Errorf("hashKey is missing; want the metadata key that consistentHash goes by")
	case !hashes && (c.HashKey != "" || c.LoadBound != 0):
		return nil, fmt.Errorf("hashKey and loadBound are consistentHash's; the strategy is %s", c.Strategy)
	case strings.HasSuffix(c.HashKey, "-bin"), strings.HasPrefix(c.HashKey, "grpc-"), strings.HasPrefix(c.HashKey, ":"):
		return nil, fmt.Errorf("hashKey %q is not the caller's to set as text", c.HashKey)
	case c.LoadBound != 0 && !(c.LoadBound > 1 && c.LoadBound <= 100):
		return nil, fmt.Errorf("loadBound %v is out of range; want above 1 up to 100", c.LoadBound)
	}
	return c, nil
}

// options returns the balancer's options that a config asks for.
func (c *policyConfig) options(region string) balance.Options {
	o := balance.Options{Strategy: balance.Strategy(c.Strategy), LoadBound: c.LoadBound, Region: c.Region}
	if o.Region == "" {
		o.Region = region
	}
	return o
}

// strategy is a balance.Strategy as service configs write it.
type strategy balance.Strategy

// strategyNames are in the order of the constants.
func strategyNames() []string {
	return []string{"roundRobin", "random", "leastInFlight", "consistentHash"}
}

// String returns the strategy as service configs write it.
func (s strategy) String() string { return strategyNames()[s] }

// UnmarshalText reads what String writes.
func (s *strategy) UnmarshalText(text []byte) error {
	i := slices.Index(strategyNames(), string(text))
	if i < 0 {
		return fmt.Errorf("strategy %q is none; want one of %s", text, strings.Join(strategyNames(), ", "))
	}
	*s = strategy(i)
	return nil
}
