package cordongrpc

import (
	"context"
	"crypto/x509"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// MetadataKey returns a function for WithOrigin that takes the first value of a key that a server got. Anybody can send any: trust it only if something in front sets it.
func MetadataKey(key string) func(context.Context) string {
	return func(ctx context.Context) string {
		if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
			return values[0]
		}
		return ""
	}
}

// PeerCommonName is a function for WithOrigin that takes the subject's common name of the certificate that the peer showed and TLS verified; "" if there is none.
func PeerCommonName(ctx context.Context) string {
	if cert := peerCertificate(ctx); cert != nil {
		return cert.Subject.CommonName
	}
	return ""
}

// PeerURI is PeerCommonName with the certificate's first URI, as a SPIFFE id.
func PeerURI(ctx context.Context) string {
	if cert := peerCertificate(ctx); cert != nil && len(cert.URIs) > 0 {
		return cert.URIs[0].String()
	}
	return ""
}

// PeerDNS is PeerCommonName with the certificate's first DNS name.
func PeerDNS(ctx context.Context) string {
	if cert := peerCertificate(ctx); cert != nil && len(cert.DNSNames) > 0 {
		return cert.DNSNames[0]
	}
	return ""
}

// peerCertificate returns the certificate that the peer showed, or nil. One that was not verified, which a server may ask for too, says nothing.
func peerCertificate(ctx context.Context) *x509.Certificate {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.VerifiedChains[0]) == 0 {
		return nil
	}
	return info.State.VerifiedChains[0][0]
}
