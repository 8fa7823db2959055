package rulestore

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]Address{
		"rules.yaml":      {Path: "rules.yaml"},
		"/etc/app/r.json": {Path: "/etc/app/r.json"},
		`C:\rules.yaml`:   {Path: `C:\rules.yaml`},
		"a/x://b":         {Path: "a/x://b"},
		"nacos://127.0.0.1:8848/public/G/a.yaml": {
			Servers: []string{"127.0.0.1:8848"}, Namespace: "public", Group: "G", DataID: "a.yaml",
		},
		"nacos://ann@a:1,b:2/ns/SENTINEL_GROUP/shop-flow-rules?grpc=9": {
			Servers: []string{"a:1?grpc=9", "b:2?grpc=9"}, User: "ann", Namespace: "ns", Group: "SENTINEL_GROUP", DataID: "shop-flow-rules",
		},
		"nacos+https://h/ns/G/a%3Ab": {Servers: []string{"https://h"}, Namespace: "ns", Group: "G", DataID: "a:b"},
	} {
		a, err := ParseAddress(text)
		require.NoError(t, err, text)
		require.Equal(t, want, a, text)
	}
}

func TestWrongAddresses(t *testing.T) {
	for text, says := range map[string]string{
		"":                            "missing",
		"etcd://h/a/b/c":              "etcd:// is no place",
		"nacos://":                    "does not name a document",
		"nacos://h:1/G/a":             "does not name a document",
		"nacos://h:1/ns/G/a/b":        "does not name a document",
		"nacos://h:1//G/a":            "does not name a document",
		"nacos:///ns/G/a":             "does not name a document",
		"nacos://@h:1/ns/G/a":         "no user",
		"nacos://h:1/ns/G/%zz":        "%zz",
		"nacos://ann:s3cret@h/a/b/c":  "CORDON_NACOS_PASSWORD",
		"nacos://ann:s3cret@h":        "CORDON_NACOS_PASSWORD",
		"nacos://ann:s3/cr@h/a/b/c":   "CORDON_NACOS_PASSWORD",
		"nacos:/ann:s3cret@h/a/b/c":   "two slashes",
		"nacos+https:ann:s3@h/a/b/c":  "two slashes",
		"nacos://h/a/b/c?token=s3":    "?grpc=9848",
		"nacos://h/a/b/c?grpc=1&p=s3": "?grpc=9848",
		"nacos://h/a/b/c?grpc=":       "?grpc=9848",
	} {
		_, err := ParseAddress(text)
		require.ErrorContains(t, err, says, text)
		require.NotContains(t, err.Error(), "s3", text)
	}
}

// An address shows no user, and leads to the same document again.
func TestAddressesAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"nacos://ann@a:1,b:2/ns/G/a?grpc=9": "nacos://a:1,b:2/ns/G/a",
		"nacos+https://ann@h/ns/G/a%3Ab":    "nacos+https://h/ns/G/a:b",
		"./rules.yaml":                      "./rules.yaml",
	} {
		a, err := ParseAddress(text)
		require.NoError(t, err)
		require.Equal(t, want, a.String())
		again, err := ParseAddress(a.String())
		require.NoError(t, err)
		require.Equal(t, a.Name(), again.Name())
		require.Equal(t, a.Key(), again.Key())
	}
	absolute, err := filepath.Abs("rules.yaml")
	require.NoError(t, err)
	for _, path := range []string{"rules.yaml", "./rules.yaml", "x/../rules.yaml"} {
		require.Equal(t, absolute, Address{Path: path}.Key())
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("nacos://ann@a:1,b:2/ns/G/a?grpc=9")
	f.Add("nacos+https://h/ns/G/a%3Ab")
	f.Add("rules.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, a.Name())
		again, err := ParseAddress(a.String())
		require.NoError(t, err, "%q", a.String())
		require.Equal(t, a.Key(), again.Key())
	})
}
