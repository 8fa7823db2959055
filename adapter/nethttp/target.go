package nethttp

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

const (
	leastWeight = .001
	mostWeight  = 1_000_000
	mostRegion  = 100 // bytes of a region's name
)

// Target is one instance of a service that speaks HTTP.
type Target struct {
	// URL is the base URL: http or https, a host, and maybe a path that all requests are put below. Required. It identifies the instance: in events
	// and snapshots it is the address, written in one form (host in lower case, no default port, no slash at the end).
	URL string
	// Weight is its share of the requests relative to others', .001 to 1,000,000; default 1. What shall get none is not weighted 0 but Drained.
	Weight float64
	// Region is where it stands, for PoolConfig.Balance.Region; default: not known. At most 100 bytes.
	Region string
	// Drained targets get no requests, while those under way may end.
	Drained bool
}

// Address returns the URL in the form in which it identifies the instance. What is no base URL is returned as it is.
func (t Target) Address() string {
	u, err := baseURL(t.URL)
	if err != nil {
		return t.URL
	}
	return u.String()
}

// CheckTargets returns what is wrong with a list of targets, each fault with its field ("[2].url"): a URL that is no base URL or of an
// earlier target, a weight out of range, a region that is no name. A list that is empty is a good one: a registry may know of no instance.
func CheckTargets(list []Target) rule.Problems {
	_, problems := parseTargets(list)
	return problems
}

// targets is a list of targets, ready for use.
type targets struct {
	instances []isolation.Instance
	urls      map[string]*url.URL // by address
}

func parseTargets(list []Target) (targets, rule.Problems) {
	ready := targets{make([]isolation.Instance, 0, len(list)), make(map[string]*url.URL, len(list))}
	var problems rule.Problems
	first := make(map[string]int, len(list))
	for i, t := range list {
		fault := func(field, message, want string) {
			problems = append(problems, rule.Problem{Index: -1, Field: fmt.Sprintf("[%d].%s", i, field), Message: message, Want: want})
		}
		if t.Weight != 0 && !(t.Weight >= leastWeight && t.Weight <= mostWeight) {
			fault("weight", fmt.Sprintf("%v is out of range", t.Weight), fmt.Sprintf("%v to %d", leastWeight, mostWeight))
		}
		if len(t.Region) > mostRegion || strings.TrimSpace(t.Region) != t.Region || strings.ContainsFunc(t.Region, unicode.IsControl) {
			fault("region", fmt.Sprintf("%.120q is no region's name", t.Region),
				fmt.Sprintf("at most %d bytes, without spaces around them and control characters", mostRegion))
		}
		u, err := baseURL(t.URL)
		if err != nil {
			fault("url", err.Error(), "a base URL, as http://10.0.0.1:8080")
			continue
		}
		address := u.String()
		if before, again := first[address]; again {
			fault("url", fmt.Sprintf("%s is the address of [%d] already", address, before), "each instance once, with a weight if it can take more")
			continue
		}
		first[address] = i
		ready.urls[address] = u
		ready.instances = append(ready.instances, isolation.Instance{Address: address, Weight: t.Weight, Region: t.Region, Drained: t.Drained})
	}
	return ready, problems
}

// baseURL checks and parses a base URL, and brings it to the form in which it identifies an instance.
func baseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return nil, fmt.Errorf("a URL is missing")
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q is neither http nor https", s)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q has no host", s)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("%q has more than scheme, host and path", s)
	}
	port := u.Port()
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535) {
		return nil, fmt.Errorf("%q has no port that there can be", s)
	}
	name, zone, zoned := strings.Cut(strings.TrimSuffix(u.Host, ":"), "%")
	u.Host = strings.ToLower(name)
	if zoned { // of an IPv6 address: a network interface's name, which has its case
		u.Host += "%" + zone
	}
	if port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	if back, err := url.Parse(u.String()); err != nil || back.String() != u.String() {
		return nil, fmt.Errorf("%q has a host or a path that cannot be written as a URL again", s)
	}
	return u, nil
}
