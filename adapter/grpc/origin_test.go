package cordongrpc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/adapter/grpc/testdata/shop"
)

// certificate makes one that signs itself.
func certificate(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<34, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"shop"},
	}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// The peer's certificate tells who it is, if it was verified; in the tap too.
func TestOriginByCertificate(t *testing.T) {
	spiffe, err := url.Parse("spiffe://example.org/web")
	require.NoError(t, err)
	server := certificate(t, nil)
	web := certificate(t, func(c *x509.Certificate) {
		c.Subject, c.DNSNames, c.URIs = pkix.Name{CommonName: "web"}, []string{"web.example.org", "www.example.org"}, []*url.URL{spiffe}
	})
	bare := certificate(t, func(c *x509.Certificate) { c.DNSNames = nil })
	for name, tt := range map[string]struct {
		origin func(context.Context) string
		client tls.Certificate
		auth   tls.ClientAuthType
		want   string
	}{
		"common name":         {cordongrpc.PeerCommonName, web, tls.RequireAndVerifyClientCert, "web"},
		"URI":                 {cordongrpc.PeerURI, web, tls.RequireAndVerifyClientCert, "spiffe://example.org/web"},
		"DNS name":            {cordongrpc.PeerDNS, web, tls.RequireAndVerifyClientCert, "web.example.org"},
		"no URI":              {cordongrpc.PeerURI, bare, tls.RequireAndVerifyClientCert, ""},
		"no DNS name":         {cordongrpc.PeerDNS, bare, tls.RequireAndVerifyClientCert, ""},
		"nobody has verified": {cordongrpc.PeerCommonName, web, tls.RequireAnyClientCert, ""},
	} {
		t.Run(name, func(t *testing.T) {
			known := x509.NewCertPool()
			known.AddCert(tt.client.Leaf)
			known.AddCert(server.Leaf)
			origins := make(chan string, 9)
			eng := newEngine(t, perDay(buy, 0), cordon.WithObserver(cordon.Observer{Block: func(e cordon.BlockEvent) { origins <- e.Origin }}))
			opt := cordongrpc.WithOrigin(tt.origin)
			for _, so := range [][]grpc.ServerOption{cordongrpc.ServerOptions(eng, opt), tapping(eng, opt)} {
				srv := grpc.NewServer(append(so, grpc.Creds(credentials.NewTLS(&tls.Config{
					Certificates: []tls.Certificate{server}, ClientCAs: known, ClientAuth: tt.auth, MinVersion: tls.VersionTLS13,
				})))...)
				shop.RegisterShopServer(srv, newServer())
				l, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				served := make(chan error, 1)
				go func() { served <- srv.Serve(l) }()
				conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
					Certificates: []tls.Certificate{tt.client}, RootCAs: known, ServerName: "shop", MinVersion: tls.VersionTLS13,
				})))
				require.NoError(t, err)
				_, err = shop.NewShopClient(conn).Buy(t.Context(), wish(""))
				_, refused := cordongrpc.FromStatus(err)
				require.True(t, refused, "%v", err)
				require.Equal(t, tt.want, <-origins)
				require.NoError(t, conn.Close())
				srv.Stop()
				require.NoError(t, <-served)
			}
		})
	}
	require.Empty(t, cordongrpc.PeerCommonName(t.Context()))
	require.Empty(t, cordongrpc.MetadataKey("x")(t.Context()))
}
