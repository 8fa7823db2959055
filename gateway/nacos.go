package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// Nacos says where a Nacos server is, and who asks it.
type Nacos struct {
	// Servers are the addresses of the server, or of all in its cluster: host:port (default port 8848), or a base URL as https://host:8443/nacos. One with a gRPC port that is not the port
	// plus 1000 says so: 127.0.0.1:8848?grpc=9848. Required where rules are taken from it.
	Servers []string `rule:"servers"`
	// Namespace is the namespace's id; default: the public one.
	Namespace string `rule:"namespace"`
	// Username is whose password PasswordFile or PasswordEnv gives; default: nobody logs in.
	Username string `rule:"username"`
	// PasswordFile is a file that holds the password, without the line break at its end. PasswordEnv is an environment variable that does. One of them is given with Username.
	PasswordFile string `rule:"passwordFile"`
	PasswordEnv  string `rule:"passwordEnv"`
	// TokenFile and TokenEnv are where an access token is, in the same way, instead of user and password.
	TokenFile string `rule:"tokenFile"`
	TokenEnv  string `rule:"tokenEnv"`
	// TLS is how connections are secured, of addresses that begin with https:// or where anything of it is set; default: by the system's certificates.
	TLS NacosTLS `rule:"tls"`
	// Timeout is how long one request may take, 10ms to 1m; default 3s.
	Timeout time.Duration `rule:"timeout"`
	// Reread is how often documents are read again beside the server's notices, some of which get lost, 1s to 1h; default 30s.
	Reread time.Duration `rule:"reread"`
}

// NacosTLS is how connections to a Nacos server are secured.
type NacosTLS struct {
	// CA is a file of certificates (PEM) that the server's must be signed by one of; default: the system's.
	CA string `rule:"ca"`
	// Cert and Key are files with the client's certificate and its key (PEM), both or none.
	Cert string `rule:"cert"`
	Key  string `rule:"key"`
	// ServerName is what the server's certificate must be for; default: its address.
	ServerName string `rule:"serverName"`
	// InsecureSkipVerify takes any certificate. Whoever sits between can then read the password and change the rules.
	InsecureSkipVerify bool `rule:"insecureSkipVerify"`
}

// Password returns the password, read from where the configuration says; "" if it says nothing.
func (n Nacos) Password() (string, error) {
	text, fault := secret("password", n.PasswordFile, n.PasswordEnv)
	return text, fault.err()
}

// Token returns the access token, as Password does the password.
func (n Nacos) Token() (string, error) {
	text, fault := secret("token", n.TokenFile, n.TokenEnv)
	return text, fault.err()
}

// secretFaults says what keeps the password and the token from being read.
func (n Nacos) secretFaults() rule.Problems {
	var f faults
	for what, from := range map[string][2]string{"password": {n.PasswordFile, n.PasswordEnv}, "token": {n.TokenFile, n.TokenEnv}} { // one of them at most is given
		if _, fault := secret(what, from[0], from[1]); fault != nil {
			f.add(fault.field, fault.why.Error(), fault.want)
		}
	}
	return f.list
}

// A secretFault is why a secret cannot be had: the field that says where it is, what is wrong, and what would be right.
type secretFault struct {
	field string
	why   error
	want  string
}

func (f *secretFault) err() error {
	if f == nil {
		return nil
	}
	return fmt.Errorf("gateway: %s: %w; want %s", f.field, f.why, f.want)
}

// secret reads what must not stand in a configuration.
func secret(what, file, variable string) (string, *secretFault) {
	switch {
	case file != "":
		fault := &secretFault{"nacos." + what + "File", nil, "a file with the " + what + " in it"}
		data, err := os.ReadFile(file)
		if err != nil {
			fault.why = err
			return "", fault
		}
		data = bytes.TrimRight(data, "\r\n")
		if len(data) == 0 {
			fault.why = fmt.Errorf("%s is empty", file)
			return "", fault
		}
		return string(data), nil
	case variable != "":
		value := os.Getenv(variable)
		if value == "" {
			return "", &secretFault{"nacos." + what + "Env", fmt.Errorf("the environment variable %s is not set", variable), "the " + what + " in it"}
		}
		return value, nil
	}
	return "", nil
}

// errNoNacos refuses a configuration that this program has nothing built in for.
var errNoNacos = errors.New("gateway: the configuration takes rules from a Nacos server, and nothing that does is built in: " +
	"give New the option gateway.WithNacos, as cmd/cordon does with package datasource/nacos")

// A NacosClient gives sources of documents on a Nacos server. The gateway has none of its own, since the server's SDK is large: WithNacos brings one.
type NacosClient interface {
	// Sources returns the sources of what an entry of Config.Rules names (its Nacos, with the group filled in): one document, or for an app one for each kind of rules. With EmptyClears, what is
	// deleted is delivered as a document without rules of the entry's format. The error says that it cannot be had at all; that the server cannot be reached is told by the source.
	Sources(r RuleSource) ([]NacosSource, error)
	// Close ends the client; the sources are no longer watched by then.
	Close() error
}

// NacosSource is the source of one document on a Nacos server.
type NacosSource struct {
	// Source delivers the document. What follows the last slash in its name is the document's.
	Source datasource.Source
	// Kind is what a document of an app is about; 0 for others.
	Kind sentinel.Kind
}

// WithNacos builds in what takes rules from a Nacos server: open makes the client for Config.Nacos, and is called once, by New, if the configuration names documents there. It must not wait for the server, as a gateway
// starts without. A configuration that names such is refused without this option. docs/gateway.md shows how it is done with package datasource/nacos.
func WithNacos(open func(Nacos) (NacosClient, error)) Option {
	return optionFunc(func(o *options) { o.nacos = open })
}
