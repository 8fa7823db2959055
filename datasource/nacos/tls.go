package nacos

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
)

// TLS is how connections are secured. The files are read by New, which refuses what is wrong with them, and again for every connection, so that
// new certificates are taken without a restart; bad ones then are logged, and the last good ones stay in use.
type TLS struct {
	// CA is a file of certificates (PEM) one of which the server's must be signed by; default: the system's.
	CA string
	// Cert and Key are files with the client's certificate and its key (PEM), both or none.
	Cert, Key string
	// ServerName is what the server's certificate must be for; default: the host of its address.
	ServerName string
	// InsecureSkipVerify takes any certificate. Whoever sits between can then read the password and change the rules.
	InsecureSkipVerify bool
}

// certificates give the TLS configuration for each connection.
type certificates struct {
	files TLS

	mu   sync.Mutex // guards lastGood
	good *tls.Config
}

// newCertificates reads the files for the first time. A nil TLS stands for the system's certificates.
func newCertificates(t *TLS) (*certificates, error) {
	c := &certificates{}
	if t != nil {
		c.files = *t
	}
	config, err := c.files.load()
	if err != nil {
		return nil, fmt.Errorf("nacos: TLS: %w", err)
	}
	c.good = config
	return c, nil
}

// config returns the configuration by the files as they are, and why it is an older one if they are bad.
func (c *certificates) config() (*tls.Config, error) {
	config, err := c.files.load()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		return c.good.Clone(), err
	}
	c.good = config
	return config.Clone(), nil
}

// load reads the files.
func (t TLS) load() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("CA: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA: %s holds no certificate; want PEM blocks of type CERTIFICATE", t.CA)
		}
	}
	switch {
	case t.Cert == "" && t.Key == "":
		return config, nil
	case t.Cert == "" || t.Key == "":
		return nil, errors.New("only one of Cert and Key; want both or none")
	}
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", t.Cert, t.Key, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
