package rulestore

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// An Address says where a document is: in a file, or on a Nacos server.
type Address struct {
	// Path is the file; "" for a document on a server.
	Path string
	// Servers are the addresses of the servers of one cluster, as package datasource/nacos takes them.
	Servers []string
	// User logs in; "" for nobody.
	User string
	// Namespace, Group and DataID name the document; the public namespace is called public.
	Namespace, Group, DataID string
}

// The forms of addresses on servers.
const (
	scheme       = "nacos://"
	secureScheme = "nacos+https://"
	// Form shows how an address is written, for help texts.
	Form = "nacos://[user@]host:port/namespace/group/dataId, or a file's path"
)

// ErrPassword says that an address holds a password. Others could see it there.
var ErrPassword = errors.New("a password does not belong into an address, where others of the machine see it: set CORDON_NACOS_PASSWORD")

// ParseAddress reads an address: a path, or nacos://[user@]host:port[,host:port]/namespace/group/dataId[?grpc=port], with nacos+https:// for a server that is reached by TLS.
func ParseAddress(text string) (Address, error) {
	before, rest, ok := strings.Cut(text, "://")
	switch {
	case !ok && (strings.HasPrefix(text, "nacos:") || strings.HasPrefix(text, "nacos+https:")):
		return Address{}, errors.New("an address on a server has two slashes after the colon; want " + Form) // what else is in it may be a password
	case !ok || strings.ContainsAny(before, `/\`):
		if text == "" {
			return Address{}, errors.New("an address is missing; want " + Form)
		}
		return Address{Path: text}, nil
	case before+"://" != scheme && before+"://" != secureScheme:
		return Address{}, fmt.Errorf("%s:// is no place that rules are kept in; want %s", before, Form)
	}
	// What url.Parse would say of a fault repeats the text, the password in it included.
	if user, _, ok := strings.Cut(rest, "@"); ok && strings.Contains(user, ":") {
		return Address{}, ErrPassword
	}
	rest, query, _ := strings.Cut(rest, "?")
	if port, ok := strings.CutPrefix(query, "grpc="); query != "" && (!ok || port == "" || strings.Trim(port, "0123456789") != "") {
		return Address{}, errors.New("what follows the ? is no port of gRPC; want ?grpc=9848, and no more") // it may be a token, so it is not repeated
	}
	authority, path, _ := strings.Cut(rest, "/")
	var a Address
	if user, hosts, ok := strings.Cut(authority, "@"); ok {
		a.User, authority = user, hosts
		if user == "" {
			return Address{}, fmt.Errorf("%q names no user before the @; want %s", text, Form)
		}
	}
	parts := strings.Split(path, "/")
	if len(parts) != 3 || slices.Contains(parts, "") || authority == "" {
		return Address{}, fmt.Errorf("%q does not name a document; want %s, as nacos://127.0.0.1:8848/public/DEFAULT_GROUP/rules.yaml", text, Form)
	}
	for i, p := range parts {
		plain, err := url.PathUnescape(p)
		if err != nil {
			return Address{}, fmt.Errorf("%q: %w", text, err)
		}
		parts[i] = plain
	}
	a.Namespace, a.Group, a.DataID = parts[0], parts[1], parts[2]
	for _, host := range strings.Split(authority, ",") {
		if before+"://" == secureScheme {
			host = "https://" + host
		}
		if query != "" {
			host += "?" + query
		}
		a.Servers = append(a.Servers, host)
	}
	return a, nil
}

// Name is what the document is called where it is kept, which may tell what it is about: the data id, or the file's path.
func (a Address) Name() string {
	if a.Path != "" {
		return a.Path
	}
	return a.DataID
}

// String returns the address without its user.
func (a Address) String() string {
	if a.Path != "" {
		return a.Path
	}
	start := scheme
	hosts := make([]string, len(a.Servers))
	for i, s := range a.Servers {
		if host, ok := strings.CutPrefix(s, "https://"); ok {
			s, start = host, secureScheme
		}
		hosts[i], _, _ = strings.Cut(s, "?")
	}
	return start + strings.Join(hosts, ",") + "/" + url.PathEscape(a.Namespace) + "/" + url.PathEscape(a.Group) + "/" + url.PathEscape(a.DataID)
}

// Key is the same for all addresses of one document, as far as they show it: users do not matter, and paths are absolute.
func (a Address) Key() string {
	if a.Path == "" {
		return a.String()
	}
	path, err := filepath.Abs(a.Path)
	if err != nil {
		return a.Path
	}
	return path
}
