package nacos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConfigIsChecked(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   string
	}{
		{Config{}, "nacos: Servers is empty; want at least one address, as 127.0.0.1:8848"},
		{Config{Servers: []string{"a", ""}}, `nacos: Servers[1] "": no host; want host:port, or a URL as https://host:8443/nacos`},
		{Config{Servers: []string{"a"}, Timeout: -1}, "nacos: Timeout is -1ns; want 10ms to 10m0s"},
		{Config{Servers: []string{"a"}, Timeout: time.Hour}, "nacos: Timeout is 1h0m0s"},
		{Config{Servers: []string{"a"}, Reread: time.Millisecond}, "nacos: Reread is 1ms; want 100ms to 24h0m0s"},
		{Config{Servers: []string{"a"}, Namespace: "a/b"}, `nacos: Namespace "a/b" has '/' in it`},
		{Config{Servers: []string{"a"}, Password: "x"}, "nacos: Password without Username; want both or none"},
		{Config{Servers: []string{"a"}, Username: "u", AccessToken: "x"}, "nacos: both Username and AccessToken; want one of them"},
		{Config{Servers: []string{"a"}, TLS: &TLS{CA: "none.pem"}}, "nacos: TLS: CA: open none.pem: no such file"},
		{Config{Servers: []string{"a"}, TLS: &TLS{CA: "config_test.go"}}, "nacos: TLS: CA: config_test.go holds no certificate; want PEM blocks of type CERTIFICATE"},
		{Config{Servers: []string{"a"}, TLS: &TLS{Cert: "c.pem"}}, "nacos: TLS: only one of Cert and Key; want both or none"},
		{Config{Servers: []string{"a"}, TLS: &TLS{Cert: "c.pem", Key: "k.pem"}}, "nacos: TLS: certificate c.pem with key k.pem: open c.pem"},
	} {
		c, err := New(test.config)
		require.Nil(t, c)
		require.ErrorContains(t, err, test.want)
	}
	_, err := New(Config{Servers: []string{"a"}, Timeout: -1, Reread: -1})
	require.ErrorContains(t, err, "Timeout")
	require.ErrorContains(t, err, "Reread", "all that is wrong is told")
}

func TestServers(t *testing.T) {
	const login = "/v1/auth/users/login"
	for _, test := range []struct {
		address string
		secure  bool
		want    server
		wrong   string
	}{
		{address: "127.0.0.1:8848", want: server{"127.0.0.1:8848", "127.0.0.1", "127.0.0.1:9848", "http://127.0.0.1:8848/nacos" + login, false}},
		{address: "nacos", want: server{"nacos:8848", "nacos", "nacos:9848", "http://nacos:8848/nacos" + login, false}},
		{address: "nacos", secure: true, want: server{"nacos:8848", "nacos", "nacos:9848", "https://nacos:8848/nacos" + login, true}},
		{address: "http://nacos", secure: true, want: server{"nacos:8848", "nacos", "nacos:9848", "http://nacos:8848/nacos" + login, true}},
		{address: "https://nacos:8443/nacos", want: server{"nacos:8443", "nacos", "nacos:9443", "https://nacos:8443/nacos" + login, true}},
		{address: "https://nacos:443/a/b/", want: server{"nacos:443", "nacos", "nacos:1443", "https://nacos:443/a/b" + login, true}},
		{address: "127.0.0.1:8848?grpc=19848", want: server{"127.0.0.1:8848", "127.0.0.1", "127.0.0.1:19848", "http://127.0.0.1:8848/nacos" + login, false}},
		{address: "[::1]:8848", want: server{"[::1]:8848", "::1", "[::1]:9848", "http://[::1]:8848/nacos" + login, false}},
		{address: "nacos:64536?grpc=1", want: server{"nacos:64536", "nacos", "nacos:1", "http://nacos:64536/nacos" + login, false}},
		{address: "", wrong: "no host"},
		{address: ":8848", wrong: "no host"},
		{address: "nacos:port", wrong: "invalid port"},
		{address: "nacos:0", wrong: "there is no port 0"},
		{address: "nacos:65000", wrong: "there is no port 66000"},
		{address: "nacos:8848?grpc=x", wrong: "the port is no number"},
		{address: "nacos:8848?rpc=1", wrong: "no parameter rpc"},
		{address: "nacos:8848#x", wrong: "no use for what follows the #"},
		{address: "u:p@nacos:8848", wrong: "belong"},
		{address: "ftp://nacos", wrong: "no scheme ftp"},
		{address: "http://[::1", wrong: "missing ']' in host"},
	} {
		s, err := parseServer(test.address, test.secure)
		if test.wrong != "" {
			require.ErrorContains(t, err, test.wrong, test.address)
			continue
		}
		require.NoError(t, err, test.address)
		require.Equal(t, test.want, s, test.address)
	}
}

// What may be a password or a token in an address that is refused is not repeated.
func TestRefusedAddressesKeepSecrets(t *testing.T) {
	for _, address := range []string{
		"ann:s3cret@nacos", "http://ann:s3cret@nacos:8848", "ann:s3cret@nacos:port", "ann:s3cret@[::1", "http://ann:s3cret%zz@nacos",
		"nacos?token=s3cret", "nacos?grpc=s3cret", "nacos#s3cret",
	} {
		_, err := New(Config{Servers: []string{address}})
		require.ErrorContains(t, err, "nacos: Servers[0]: ", address)
		require.NotContains(t, err.Error(), "s3cret", address)
	}
}

func FuzzServer(f *testing.F) {
	for _, address := range []string{"127.0.0.1:8848", "https://nacos:8443/nacos", "[::1]:8848?grpc=9848", "u:p@nacos", "%", "a\x00b", "http://"} {
		f.Add(address, true)
	}
	f.Fuzz(func(t *testing.T, address string, secure bool) {
		s, err := parseServer(address, secure)
		if err != nil {
			require.Empty(t, s)
			return
		}
		require.NotEmpty(t, s.host)
		require.Contains(t, s.login, loginPath)
		again, err := parseServer(s.name+"?grpc="+s.grpc[len(s.grpc)-len(portText(s.grpc)):], s.secure)
		require.NoError(t, err)
		require.Equal(t, s.grpc, again.grpc)
	})
}

func portText(address string) string {
	for i := len(address) - 1; i >= 0; i-- {
		if address[i] == ':' {
			return address[i+1:]
		}
	}
	return ""
}
