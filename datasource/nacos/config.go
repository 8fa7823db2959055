package nacos

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// Groups of documents that are in common use.
const (
	// DefaultGroup is the group of documents of which nothing else is said.
	DefaultGroup = "DEFAULT_GROUP"
	// SentinelGroup is where Sentinel's dashboards keep rules.
	SentinelGroup = "SENTINEL_GROUP"
)

// Config says where a Nacos server is, and who asks it.
type Config struct {
	// Servers are the addresses of the server, or of all in its cluster, of which one is used at a time; at least one is required. An address is that of
	// HTTP: "127.0.0.1:8848", or a base URL as "https://host:8443/nacos"; default port 8848, default path /nacos. The port of gRPC,
	// which everything but the login goes through, is that plus 1000 unless the address says another: "127.0.0.1:8848?grpc=9848".
	Servers []string
	// Namespace is the namespace's id (not its name); "" and "public" are the public one. The server does not tell an unknown namespace from an empty one.
	Namespace string
	// Username and Password log in over HTTP, again before the token runs out and when it is refused. Default: nobody logs in.
	Username, Password string
	// AccessToken is a token that was got elsewhere, instead of user and password. Nobody renews it.
	AccessToken string
	// TLS secures the connections. They are secured as well, with the system's certificates, where an address begins with https://; an address
	// that begins with http:// keeps the login unsecured whatever TLS says. Default: none.
	TLS *TLS
	// Timeout is how long one request may take, connecting to one server included; 10ms to 10m, default 3s.
	Timeout time.Duration
	// Reread is how often it is made sure that no notice was lost, jittered by ±20%; 100ms to 24h, default 30s.
	Reread time.Duration
	// Logger is told of connections made and lost; nil: silent. What is wrong with a document is told through its source.
	Logger *slog.Logger
	// Clock is the clock used for pauses and timeouts; default clock.System().
	Clock clock.Clock
}

const (
	defaultTimeout = 3 * time.Second
	minTimeout     = 10 * time.Millisecond
	maxTimeout     = 10 * time.Minute
	defaultReread  = 30 * time.Second
	minReread      = 100 * time.Millisecond
	maxReread      = 24 * time.Hour
)

// withDefaults returns the configuration with every default filled in.
func (c Config) withDefaults() Config {
	if c.Namespace == publicNamespace {
		c.Namespace = ""
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Reread == 0 {
		c.Reread = defaultReread
	}
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	return c
}

// check says what is wrong with a configuration that has its defaults.
func (c Config) check() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("nacos: "+format, args...)) }
	if c.Timeout < minTimeout || c.Timeout > maxTimeout {
		fault("Timeout is %v; want %v to %v", c.Timeout, minTimeout, maxTimeout)
	}
	if c.Reread < minReread || c.Reread > maxReread {
		fault("Reread is %v; want %v to %v", c.Reread, minReread, maxReread)
	}
	if why := nameFault(c.Namespace); c.Namespace != "" && why != "" {
		fault("Namespace %q %s", c.Namespace, why)
	}
	if c.Username == "" && c.Password != "" {
		fault("Password without Username; want both or none")
	}
	if c.Username != "" && c.Password == "" && c.AccessToken == "" {
		fault("Username without Password; want both or none")
	}
	if c.Username != "" && c.AccessToken != "" {
		fault("both Username and AccessToken; want one of them")
	}
	return errors.Join(errs...)
}

// publicNamespace is what people call the namespace without an id.
const publicNamespace = "public"

// maxName is how long the names of documents, groups and namespaces may be.
const maxName = 256

// nameFault says why a name is none that the server takes, "" if it is one.
func nameFault(name string) string {
	if name == "" {
		return "is empty"
	}
	if len(name) > maxName {
		return fmt.Sprintf("has %d characters; want at most %d", len(name), maxName)
	}
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.', r == ':':
		default:
			return fmt.Sprintf("has %q in it; want letters, digits and _ - . : only", r)
		}
	}
	return ""
}
