package extractor

import "strings"

// rootKind is what the first word of a term names.
type rootKind uint8

const (
	rootArg rootKind = iota
	rootPart
	rootBody
	rootMethod
	rootOrigin
	rootResource
	rootOwn
)

// A root is a word that a term can begin with.
type root struct {
	name string
	kind rootKind
	part Part
	// example is a path that begins so.
	example string
}

// roots are the words of the language, in the order in which they are listed to people.
var roots = []root{
	{"arg", rootArg, 0, "arg[0].id"},
	{"header", rootPart, Header, `header["X-Tenant"]`},
	{"query", rootPart, Query, "query.uid"},
	{"cookie", rootPart, Cookie, "cookie.sid"},
	{"path", rootPart, PathValue, "path.id"},
	{"meta", rootPart, Metadata, `meta["x-user"]`},
	{"attachment", rootPart, Attachment, "attachment.uid"},
	{"body", rootBody, 0, "body.user.id"},
	{"peer", rootPart, Peer, "peer.ip"},
	{"client", rootPart, Client, "client.ip"},
	{"value", rootPart, Values, "value.tenant"},
	{"method", rootMethod, 0, "method"},
	{"origin", rootOrigin, 0, "origin"},
	{"resource", rootResource, 0, "resource"},
}

// otherNames are words that people use for roots.
var otherNames = map[string]string{
	"args": "arg", "argument": "arg", "arguments": "arg", "param": "arg", "params": "arg", "headers": "header", "cookies": "cookie", "metadata": "meta",
	"attachments": "attachment", "json": "body", "request": "body", "ip": "client.ip", "clientIP": "client.ip", "remote": "peer.ip", "addr": "peer.ip",
	"values": "value", "caller": "origin", "url": "path", "form": "query",
}

func rootOf(name string) (root, bool) {
	for _, r := range roots {
		if r.name == name {
			return r, true
		}
	}
	return root{}, false
}

// keyOf returns a key of a part in the form in which that part's own maps have it.
func keyOf(p Part, key string) string {
	switch p {
	case Header:
		return canonicalHeader(key)
	case Metadata:
		return strings.ToLower(key)
	}
	return key
}

// canonicalHeader returns the key as net/http's Header has it: the first letter and those after a hyphen in upper case, the others in lower case; unchanged if it has
// bytes that no header's name has.
func canonicalHeader(key string) string {
	b := []byte(key)
	upper := true
	for i, c := range b {
		switch {
		case 'a' <= c && c <= 'z':
			if upper {
				b[i] -= 'a' - 'A'
			}
		case 'A' <= c && c <= 'Z':
			if !upper {
				b[i] += 'a' - 'A'
			}
		case '0' <= c && c <= '9', strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return key
		}
		upper = c == '-'
	}
	return string(b)
}
