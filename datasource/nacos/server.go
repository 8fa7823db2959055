package nacos

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// A server is one address of Config.Servers.
type server struct {
	// name is what it is called in messages: host and port of HTTP.
	name string
	host string
	// grpc is host and port of gRPC.
	grpc string
	// login is the URL to log in at.
	login string
	// secure is whether gRPC is over TLS.
	secure bool
}

const (
	defaultPort  = 8848
	grpcDistance = 1000
	defaultPath  = "/nacos"
	loginPath    = "/v1/auth/users/login"
)

// parseServers reads all addresses.
func parseServers(addresses []string, secure bool) ([]server, error) {
	if len(addresses) == 0 {
		return nil, errors.New("nacos: Servers is empty; want at least one address, as 127.0.0.1:8848")
	}
	var servers []server
	var errs []error
	for i, address := range addresses {
		s, err := parseServer(address, secure)
		if err != nil {
			errs = append(errs, fmt.Errorf("nacos: Servers[%d]%s: %w; want host:port, or a URL as https://host:8443/nacos", i, shown(address), err))
			continue
		}
		servers = append(servers, s)
	}
	return servers, errors.Join(errs...)
}

// shown is an address as messages repeat it, unless something may be in it that is nobody else's business.
func shown(address string) string {
	if strings.ContainsAny(address, "@?#") {
		return ""
	}
	return fmt.Sprintf(" %q", address)
}

// parseServer reads one address. secure says that there is a TLS configuration.
func parseServer(address string, secure bool) (server, error) {
	full := address
	if !strings.Contains(address, "://") {
		full = "http://" + address
		if secure {
			full = "https://" + address
		}
	}
	u, err := url.Parse(full)
	switch {
	case err != nil:
		if shown(address) == "" {
			return server{}, errors.New("it cannot be read") // the reason repeats parts of it
		}
		return server{}, errors.Unwrap(err)
	case u.Scheme != "http" && u.Scheme != "https":
		return server{}, fmt.Errorf("no scheme %s", u.Scheme)
	case u.Hostname() == "":
		return server{}, errors.New("no host")
	case u.User != nil:
		return server{}, errors.New("user and password do not belong here but in Username and Password")
	case u.Fragment != "":
		return server{}, errors.New("no use for what follows the #")
	}
	port, err := portOf(u.Port(), defaultPort)
	if err != nil {
		return server{}, err
	}
	query := u.Query()
	for key := range query {
		if key != "grpc" {
			return server{}, fmt.Errorf("no parameter %s", key)
		}
	}
	grpcPort, err := portOf(query.Get("grpc"), port+grpcDistance)
	if err != nil {
		return server{}, err
	}
	path := strings.TrimRight(u.Path, "/")
	if path == "" {
		path = defaultPath
	}
	name := net.JoinHostPort(u.Hostname(), strconv.Itoa(port))
	return server{
		name:   name,
		host:   u.Hostname(),
		grpc:   net.JoinHostPort(u.Hostname(), strconv.Itoa(grpcPort)),
		login:  u.Scheme + "://" + name + path + loginPath,
		secure: secure || u.Scheme == "https",
	}, nil
}

// portOf reads a port; def is what "" counts as.
func portOf(text string, def int) (int, error) {
	port := def
	if text != "" {
		var err error
		if port, err = strconv.Atoi(text); err != nil {
			return 0, errors.New("the port is no number")
		}
	}
	if port < 1 || port > 65535 {
		return 0, fmt.Errorf("there is no port %d", port)
	}
	return port, nil
}
