package nethttp_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/adapter/nethttp"
)

// Every fault of a list is named with its field, and all at once.
func TestFaultyTargets(t *testing.T) {
	t.Parallel()
	good := nethttp.Target{URL: "http://10.0.0.1:80/base"}
	tests := map[string]struct {
		target         nethttp.Target
		field, message string
	}{
		"nothing":             {nethttp.Target{}, "[1].url", "missing"},
		"no scheme":           {nethttp.Target{URL: "10.0.0.2:80"}, "[1].url", ""},
		"another scheme":      {nethttp.Target{URL: "ftp://a"}, "[1].url", "neither http nor https"},
		"no host":             {nethttp.Target{URL: "http:///x"}, "[1].url", "no host"},
		"only a port":         {nethttp.Target{URL: "http://:80"}, "[1].url", "no host"},
		"a port too large":    {nethttp.Target{URL: "http://a:65536"}, "[1].url", "no port"},
		"port 0":              {nethttp.Target{URL: "http://a:0"}, "[1].url", "no port"},
		"a query":             {nethttp.Target{URL: "http://a?x"}, "[1].url", "more than"},
		"an empty query":      {nethttp.Target{URL: "http://a?"}, "[1].url", "more than"},
		"a fragment":          {nethttp.Target{URL: "http://a#x"}, "[1].url", "more than"},
		"a password":          {nethttp.Target{URL: "http://u:p@a"}, "[1].url", "more than"},
		"no UTF-8":            {nethttp.Target{URL: "http://[::%\xd9]"}, "[1].url", ""},
		"no URL":              {nethttp.Target{URL: "http://a b"}, "[1].url", ""},
		"the same":            {nethttp.Target{URL: "http://10.0.0.1:80/base"}, "[1].url", "[0] already"},
		"the same, otherwise": {nethttp.Target{URL: "HTTP://10.0.0.1/base/"}, "[1].url", "[0] already"},
		"negative weight":     {nethttp.Target{URL: "http://a", Weight: -1}, "[1].weight", "out of range"},
		"tiny weight":         {nethttp.Target{URL: "http://a", Weight: 1e-9}, "[1].weight", "out of range"},
		"huge weight":         {nethttp.Target{URL: "http://a", Weight: 1e9}, "[1].weight", "out of range"},
		"infinite weight":     {nethttp.Target{URL: "http://a", Weight: math.Inf(1)}, "[1].weight", "out of range"},
		"no number":           {nethttp.Target{URL: "http://a", Weight: math.NaN()}, "[1].weight", "out of range"},
		"spaces":              {nethttp.Target{URL: "http://a", Region: " eu"}, "[1].region", "no region"},
		"a line":              {nethttp.Target{URL: "http://a", Region: "e\nu"}, "[1].region", "no region"},
		"a long region":       {nethttp.Target{URL: "http://a", Region: strings.Repeat("x", 101)}, "[1].region", "no region"},
	}
	for name, tt := range tests {
		problems := nethttp.CheckTargets([]nethttp.Target{good, tt.target})
		require.Len(t, problems, 1, name)
		require.Equal(t, tt.field, problems[0].Field, name)
		require.Contains(t, problems[0].Message, tt.message, name)
		require.NotEmpty(t, problems[0].Want, name)
		require.Equal(t, -1, problems[0].Index)
	}
	require.Len(t, nethttp.CheckTargets([]nethttp.Target{{}, {URL: "http://a", Weight: -1, Region: " "}}), 3)
}

func TestGoodTargets(t *testing.T) {
	t.Parallel()
	require.Empty(t, nethttp.CheckTargets(nil), "a registry may know of none")
	require.Empty(t, nethttp.CheckTargets([]nethttp.Target{
		{URL: "http://a"}, {URL: "https://a"}, {URL: "http://a:8080"}, {URL: "http://a/x"}, {URL: "http://[::1]:80/%41"}, {URL: "https://b:443/"},
		{URL: "http://c", Weight: .001, Region: "eu-1"}, {URL: "http://d", Weight: 1e6, Region: "Übersee 1", Drained: true},
	}))
}

// Whatever the URL, a target is refused or has an address that is a good target again, and the same one.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"http://a", "http://[::%25\xa9]", "https://[::1%25eth0]:443//x/", "http://A.b:80/%2f/", "http://a:/", "//a", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(nethttp.CheckTargets([]nethttp.Target{{URL: s}})) > 0 {
			return
		}
		address := addressOf(t, s)
		require.Equal(t, address, addressOf(t, address))
		require.Len(t, nethttp.CheckTargets([]nethttp.Target{{URL: s}, {URL: address}}), 1)
	})
}
