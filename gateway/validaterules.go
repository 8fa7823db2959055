package gateway

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cordon-go/cordon/sentinel"
)

const (
	minNacosTimeout = 10 * time.Millisecond
	maxNacosTimeout = time.Minute
	minReread       = time.Second
	maxReread       = time.Hour
	// maxDataID and maxGroup are what the server takes at most.
	maxDataID = 256
	maxGroup  = 128
)

// The groups that documents are in unless a configuration says another.
const (
	defaultGroup  = "DEFAULT_GROUP"
	sentinelGroup = "SENTINEL_GROUP"
)

// nacos checks where the Nacos server is, and that somebody needs it.
func (f *faults) nacos(n Nacos, rules []RuleSource) {
	used := slices.ContainsFunc(rules, func(r RuleSource) bool { return r.Nacos.given() })
	switch {
	case used && len(n.Servers) == 0:
		f.add("nacos.servers", "rules are taken from a Nacos server, and it is not said where it is", "at least one address, as 127.0.0.1:8848")
	case !used && n.given():
		f.add("nacos", "no rules are taken from it", "an entry as {nacos: {dataId: rules.yaml}} in rules, or no nacos")
	}
	for i, s := range n.Servers {
		at := fmt.Sprintf("nacos.servers[%d]", i)
		if slices.Contains(n.Servers[:i], s) {
			f.add(at, fmt.Sprintf("%q is there already", s), "each address once")
		} else if !isNacosAddress(s) {
			f.add(at, fmt.Sprintf("%q is no address of a Nacos server", s), "host:port, as 127.0.0.1:8848, or http://host:port/nacos; with ?grpc=port where that is not the port plus 1000")
		}
	}
	if !isNacosName(n.Namespace, maxGroup) && n.Namespace != "" {
		f.add("nacos.namespace", fmt.Sprintf("%q is no namespace's id", n.Namespace), nacosNames(maxGroup))
	}
	f.login(n)
	if (n.TLS.Cert == "") != (n.TLS.Key == "") {
		f.add("nacos.tls", "a certificate and its key belong together", "cert and key, or neither")
	}
	f.between("nacos.timeout", n.Timeout, minNacosTimeout, maxNacosTimeout)
	f.between("nacos.reread", n.Reread, minReread, maxReread)
}

// login checks by what the gateway shows who it is.
func (f *faults) login(n Nacos) {
	one := func(file, variable, fileField, variableField string) bool {
		if file != "" && variable != "" {
			f.add("nacos."+variableField, "there is a "+fileField+" already", "one of the two")
		}
		return file != "" || variable != ""
	}
	password := one(n.PasswordFile, n.PasswordEnv, "passwordFile", "passwordEnv")
	token := one(n.TokenFile, n.TokenEnv, "tokenFile", "tokenEnv")
	switch {
	case n.Username == "" && password:
		f.add("nacos.username", "there is a password and nobody to have it", "a username besides")
	case n.Username != "" && token:
		f.add("nacos.username", "there is an access token, which stands for a user already", "a token, or a user with a password")
	case n.Username != "" && !password:
		f.add("nacos.username", "it is not said where the password is", "passwordFile or passwordEnv besides")
	}
}

func (f *faults) between(field string, d, least, most time.Duration) {
	if d != 0 && (d < least || d > most) {
		f.add(field, fmt.Sprintf("%v is out of range", d), fmt.Sprintf("%v to %v", least, most))
	}
}

// rules checks what rules are taken from.
func (f *faults) rules(c Config) {
	sources, kept := map[string]int{}, map[string]int{}
	for i, r := range c.Rules {
		at := fmt.Sprintf("rules[%d]", i)
		f.ruleSource(at, r)
		if field, key := r.key(); key != "" {
			if first, again := sources[key]; again {
				f.add(at+"."+field, fmt.Sprintf("%s is rules[%d] already", key, first), "each file and each document once")
			} else {
				sources[key] = i
			}
		}
		if r.LastGood == "" {
			continue
		}
		if first, again := kept[r.LastGood]; again {
			f.add(at+".lastGood", fmt.Sprintf("rules[%d] keeps its rules in %s already", first, r.LastGood), "a path of its own for each")
		} else if kept[r.LastGood] = i; r.LastGood == r.File {
			f.add(at+".lastGood", "is the file that the rules are taken from", "another file, which the gateway writes")
		}
	}
}

// ruleSource checks one of what rules are taken from.
func (f *faults) ruleSource(at string, r RuleSource) {
	switch d := r.Nacos; {
	case r.File == "" && !d.given():
		f.add(at+".file", "a file is missing", "a path, or nacos with a dataId or an app")
	case r.File != "" && d.given():
		f.add(at+".nacos", "there is a file already", "one of the two")
	case d.given():
		f.nacosDocument(at, r)
	}
	switch {
	case r.Format > Sentinel:
		f.add(at+".format", "no such format", "native or sentinel")
	case int(r.Dialect) >= len(r.Dialect.Values()):
		f.add(at+".dialect", "no such dialect", "one of "+strings.Join(r.Dialect.Values(), ", "))
	case r.Nacos.App != "":
	case r.Format == Native:
		if r.Kind != 0 {
			f.add(at+".kind", "a native document is of all kinds", "no kind, or format: sentinel")
		}
		if r.Dialect != sentinel.Auto {
			f.add(at+".dialect", "a native document has no dialect", "no dialect, or format: sentinel")
		}
	case !r.Kind.Supported():
		f.add(at+".kind", "it must be said what a Sentinel document's rules are about", "one of "+strings.Join(supportedKinds(), ", "))
	}
}

func (f *faults) nacosDocument(at string, r RuleSource) {
	d := r.Nacos
	name := func(field, value string, longest int) {
		if value != "" && !isNacosName(value, longest) {
			f.add(at+".nacos."+field, fmt.Sprintf("%q is no name that Nacos takes", value), nacosNames(longest))
		}
	}
	switch {
	case d.DataID != "" && d.App != "":
		f.add(at+".nacos.app", "there is a dataId already", "one of the two: a document, or all of an app")
	case d.DataID == "" && d.App == "":
		f.add(at+".nacos.dataId", "is missing", "a document's name, or the name of an app")
	case d.App != "" && r.Kind != 0:
		f.add(at+".kind", "an app's documents are about different kinds", "no kind, or a dataId instead of the app")
	}
	name("dataId", d.DataID, maxDataID)
	name("app", d.App, maxDataID-len("-gateway-flow-rules"))
	name("group", d.Group, maxGroup)
}

func supportedKinds() []string {
	var names []string
	for _, name := range sentinel.Kind(0).Values() {
		var k sentinel.Kind
		if k.UnmarshalText([]byte(name)) == nil && k.Supported() {
			names = append(names, name)
		}
	}
	return names
}

func (n Nacos) given() bool {
	return len(n.Servers) > 0 || n.Namespace != "" || n.Username != "" || n.PasswordFile != "" || n.PasswordEnv != "" || n.TokenFile != "" || n.TokenEnv != "" ||
		n.TLS != NacosTLS{} || n.Timeout != 0 || n.Reread != 0
}

func (d NacosDocument) given() bool { return d != NacosDocument{} }

// groupName is the group that the document is in.
func (d NacosDocument) groupName() string {
	if d.App != "" {
		return cmp.Or(d.Group, sentinelGroup)
	}
	return cmp.Or(d.Group, defaultGroup)
}

// appName names the app whose documents are meant, with their group.
func (d NacosDocument) appName() string { return d.App + " in " + d.groupName() }

// key tells sources apart: no two entries may name the same one. field is what names it.
func (r RuleSource) key() (field, key string) {
	switch {
	case r.File != "":
		return "file", r.File
	case r.Nacos.App != "":
		return "nacos.app", "app " + r.Nacos.groupName() + "/" + r.Nacos.App
	case r.Nacos.DataID != "":
		return "nacos.dataId", r.Nacos.groupName() + "/" + r.Nacos.DataID
	}
	return "", ""
}

// isNacosName reports whether the server takes it as a name.
func isNacosName(s string, longest int) bool {
	return s != "" && len(s) <= longest && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.:", r))
	})
}

func nacosNames(longest int) string {
	return fmt.Sprintf("letters, digits and _ - . : up to %d", longest)
}

// isNacosAddress reports whether it has the form of a server's address.
func isNacosAddress(s string) bool {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Port() != "" && !isPort(u.Port()) {
		return false
	}
	query := u.Query()
	return u.RawQuery == "" || len(query) == 1 && isPort(query.Get("grpc"))
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}
