package cordongrpc

import (
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"

	"github.com/cordon-go/cordon/isolation"
)

// The keys of endpoints' attributes.
type (
	regionKey struct{}
	weightKey struct{}
)

// EndpointRegion returns the endpoint with the region that it stands in, for Register's policy. Resolvers use it.
func EndpointRegion(e resolver.Endpoint, region string) resolver.Endpoint {
	e.Attributes = e.Attributes.WithValue(regionKey{}, region)
	return e
}

// EndpointWeight returns the endpoint with a weight, for Register's policy: its share of the calls relative to others', 1e-6 to 1e12 (what is out of that is drawn in); default 1. Resolvers use it.
func EndpointWeight(e resolver.Endpoint, weight float64) resolver.Endpoint {
	e.Attributes = e.Attributes.WithValue(weightKey{}, weight)
	return e
}

// instance returns an endpoint as a group lists it. An endpoint is known by its first address.
func instance(e resolver.Endpoint) isolation.Instance {
	in := isolation.Instance{Address: e.Addresses[0].Addr}
	in.Region, _ = value(e.Attributes, regionKey{}).(string)
	in.Weight, _ = value(e.Attributes, weightKey{}).(float64)
	if in.Weight == 0 {
		in.Weight = 1
	}
	return in
}

func value(a *attributes.Attributes, key any) any {
	if a == nil {
		return nil
	}
	return a.Value(key)
}
