package nacos

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource/nacos/internal/fakenacos"
)

// An authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
	// file holds the authority's certificate.
	file string
}

func newAuthority(t *testing.T) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	a := &authority{t: t, cert: cert, key: key, dir: t.TempDir()}
	a.file = a.write("ca.pem", "CERTIFICATE", der)
	return a
}

func (a *authority) write(name, kind string, der []byte) string {
	path := filepath.Join(a.dir, name)
	require.NoError(a.t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

// sign writes a certificate for the name, and returns the files with it and its key.
func (a *authority) sign(name string) (cert, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	require.NoError(a.t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	require.NoError(a.t, err)
	return a.write(name+".pem", "CERTIFICATE", der), a.write(name+"-key.pem", "EC PRIVATE KEY", keyDER)
}

// pair returns a certificate for the name.
func (a *authority) pair(name string) tls.Certificate {
	pair, err := tls.LoadX509KeyPair(a.sign(name))
	require.NoError(a.t, err)
	return pair
}

// pool returns the authority as one to trust.
func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// inSecureWorld is inWorld with a server that wants TLS and a login, and whose certificate is for the host a.
func inSecureWorld(t *testing.T, body func(t *testing.T, w *world, a *authority, server *tls.Config)) {
	t.Helper()
	a := newAuthority(t)
	server := &tls.Config{Certificates: []tls.Certificate{a.pair("a")}, NextProtos: []string{"h2"}}
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, log: &lines{}}
		w.server = fakenacos.New(w.network.Listen, server)
		w.server.RequireLogin("cordon", password, 18000)
		w.server.Set(rules, "one")
		body(t, w, a, server)
	})
}

func (w *world) begin() {
	require.NoError(w.t, w.server.Start("a:8848", "a:9848"))
	w.t.Cleanup(w.server.Stop)
}

func TestTLS(t *testing.T) {
	inSecureWorld(t, func(t *testing.T, w *world, a *authority, _ *tls.Config) {
		w.begin()
		for _, test := range []struct {
			server string
			tls    *TLS
			wrong  string
		}{
			{"a", &TLS{CA: a.file}, ""},
			{"https://a:8848/nacos", &TLS{CA: a.file}, ""},
			{"a", &TLS{InsecureSkipVerify: true}, ""},
			{"a", &TLS{CA: a.file, ServerName: "b"}, "certificate is valid for a, not b"},
			{"a", &TLS{}, "certificate signed by unknown authority"},
			{"https://a", nil, "certificate signed by unknown authority"},
			{"a", nil, "no connection: a:8848: "},
			{"http://a", &TLS{CA: a.file}, "login as cordon at http://a:8848/nacos/v1/auth/users/login: 400 Bad Request: Client sent an HTTP request to an HTTPS server."},
		} {
			c := w.guarded()
			c.Servers, c.TLS = []string{test.server}, test.tls
			client := w.client(c)
			content, err := client.Get(t.Context(), DefaultGroup, "rules.yaml")
			if test.wrong == "" {
				require.NoError(t, err)
				require.Equal(t, "one", string(content.Data))
			} else {
				require.ErrorContains(t, err, test.wrong)
			}
			require.NoError(t, client.Close())
		}
	})
}

// The name that the certificate is for can be another than that of the address.
func TestTLSServerName(t *testing.T) {
	inSecureWorld(t, func(t *testing.T, w *world, a *authority, _ *tls.Config) {
		require.NoError(t, w.server.Start("10.0.0.1:8848", "10.0.0.1:9848"))
		defer w.server.Stop()
		c := w.guarded()
		c.Servers, c.TLS = []string{"10.0.0.1"}, &TLS{CA: a.file, ServerName: "a"}
		client := w.client(c)
		_, err := client.Get(t.Context(), DefaultGroup, "rules.yaml")
		require.NoError(t, err)
		require.NoError(t, client.Close())
	})
}

// A server that wants to know who we are; and certificates that are replaced while the client runs, by good ones and by bad ones.
func TestTLSClientCertificate(t *testing.T) {
	inSecureWorld(t, func(t *testing.T, w *world, a *authority, server *tls.Config) {
		names := make(chan string, 100)
		server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, a.pool()
		server.VerifyConnection = func(s tls.ConnectionState) error {
			names <- s.PeerCertificates[0].Subject.CommonName
			return nil
		}
		w.begin()
		c := w.guarded()
		c.TLS = &TLS{CA: a.file}
		stranger := w.client(c)
		_, err := stranger.Get(t.Context(), DefaultGroup, "rules.yaml")
		require.Error(t, err)
		require.NoError(t, stranger.Close())

		c.TLS.Cert, c.TLS.Key = a.sign("client")
		r := w.read(w.client(c).Source("rules.yaml"))
		rest(time.Minute)
		require.Equal(t, []string{"one"}, r.took())
		require.Equal(t, "client", <-names)

		newCert, newKey := a.sign("renewed")
		require.NoError(t, os.Rename(newCert, c.TLS.Cert))
		require.NoError(t, os.Rename(newKey, c.TLS.Key))
		for len(names) > 0 {
			<-names
		}
		w.server.Drop()
		rest(time.Minute)
		require.Equal(t, "renewed", <-names)

		require.NoError(t, os.WriteFile(c.TLS.Cert, []byte("half a cer"), 0o600))
		w.server.Drop()
		rest(time.Minute)
		require.Contains(t, w.log.String(), `level=WARN msg="nacos: certificates cannot be read, the last good ones stay in use" error="certificate `+c.TLS.Cert)
		require.Equal(t, "renewed", <-names)
		w.server.Set(rules, "two")
		rest(0)
		require.Equal(t, []string{"two"}, r.took())
	})
}

// A server that takes connections and says nothing, not even its certificate.
func TestTLSServerSaysNothing(t *testing.T) {
	a := newAuthority(t)
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, log: &lines{}}
		var silent []net.Listener
		for _, address := range []string{"a:8848", "a:9848"} {
			l, err := w.network.Listen(address)
			require.NoError(t, err)
			silent = append(silent, l)
		}
		c := w.guarded()
		c.TLS = &TLS{CA: a.file}
		client := w.client(c)
		began := time.Now()
		_, err := client.Get(t.Context(), DefaultGroup, "rules.yaml")
		require.ErrorContains(t, err, "no answer within 3s")
		require.Equal(t, defaultTimeout, time.Since(began))
		require.NoError(t, client.Close())
		for _, l := range silent {
			require.NoError(t, l.Close())
		}
	})
}
