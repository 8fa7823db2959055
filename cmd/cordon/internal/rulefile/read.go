package rulefile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// Stdin is the name that documents read from the standard input go by.
const Stdin = "<stdin>"

// As says what a document holds, where that is known. What is "" is told by the document.
type As struct {
	// Format is "native" or "sentinel".
	Format string
	// Kind is what a Sentinel document is about.
	Kind string
	// Dialect is whose form a Sentinel document has: "java" or "go".
	Dialect string
}

// Kinds lists the kinds of Sentinel documents that can be read, for help texts.
func Kinds() string {
	return "flow, breaker (or degrade), isolation, param (or hotspot), system, authority, gateway or api"
}

// KindByName returns what a document of that name is about, "" if the name does not say.
func KindByName(name string) string {
	kind, err := sentinel.KindOf(name, nil)
	if err != nil {
		return ""
	}
	return kind.String()
}

// IsUnclear reports whether the error says that it cannot be told what a document is about, so that its As must say.
func IsUnclear(err error) bool { return errors.Is(err, sentinel.ErrKindUnknown) }

// errNoFile refuses the address of a document on a server.
var errNoFile = errors.New(`nacos:// is a document on a server, not a file; want a file that "cordon rules pull ADDRESS -o FILE" has written, or "cordon rules diff"`)

// ReadFile reads the document in a file, or in stdin when path is "-". The
// error says that the file cannot be read, or that it cannot be told what is in it; what is wrong with the document is in the document.
func ReadFile(stdin io.Reader, path string, as As) (*Document, error) {
	name, data := path, []byte(nil)
	var err error
	if strings.HasPrefix(path, "nacos://") || strings.HasPrefix(path, "nacos+https://") {
		return nil, errNoFile // what the address has in it need not be repeated
	}
	if path == "-" {
		name = Stdin
		data, err = io.ReadAll(stdin)
	} else {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	return Read(name, data, as)
}

// Read reads a document, as ReadFile does. What As does not say of a Sentinel document is told by its name (app-degrade-rules), else by its keys.
func Read(name string, data []byte, as As) (*Document, error) {
	var dialect sentinel.Dialect
	if as.Dialect != "" {
		if err := dialect.UnmarshalText([]byte(as.Dialect)); err != nil {
			return nil, err
		}
	}
	var said []sentinel.Kind
	if as.Kind != "" {
		var k sentinel.Kind
		if err := k.UnmarshalText([]byte(as.Kind)); err != nil {
			return nil, err
		}
		said = []sentinel.Kind{k}
	}
	resources := sentinel.KindsOfCRD(data)
	switch as.Format {
	case string(Native):
		if as.Kind != "" || as.Dialect != "" {
			return nil, errors.New("a native document is of all kinds of rules, and has no dialect")
		}
		return readNative(name, data)
	case string(Sentinel):
	case "":
		if len(said) == 0 && as.Dialect == "" && len(resources) == 0 && !startsList(data) {
			return readNative(name, data)
		}
	default:
		return nil, fmt.Errorf("no format %q; want native or sentinel", as.Format)
	}
	switch {
	case len(said) > 0:
	case len(resources) > 0:
		said = resources
	default:
		// A document that does not parse has no keys to go by; its name may tell.
		root, _ := rule.ParseJSON(data, rule.ParseOptions{Lenient: true, AllowDuplicates: true})
		k, err := sentinel.KindOf(name, root)
		if err != nil {
			return nil, fmt.Errorf("%w (the kind is said by --kind)", err)
		}
		said = []sentinel.Kind{k}
	}
	return readSentinel(name, data, dialect, said)
}

func readNative(name string, data []byte) (*Document, error) {
	d := &Document{Name: name, Format: Native}
	decoded, err := cordon.Native(name, data)
	if err != nil {
		d.refuse(err)
		return d, nil
	}
	d.take(decoded)
	d.warnOfExtractors(data)
	return d, nil
}

// warnOfExtractors names the rules that need extractors which only the program that reads the document can have.
func (d *Document) warnOfExtractors(data []byte) {
	root, err := rule.Parse(data)
	if err != nil {
		return
	}
	index := 0
	var items []rule.Node
	if list := root.Field("param"); list != nil {
		items = list.Items
	}
	for _, r := range d.Rules.Param {
		var fault *extractor.SyntaxError
		if _, err := extractor.Compile(r.Param, extractor.Options{}); !errors.As(err, &fault) {
			continue
		}
		for index < len(items) && (items[index].Field("param") == nil || items[index].Field("param").Text != r.Param) {
			index++ // the good rules are in the document's order
		}
		p := rule.Problem{Source: d.Name, Kind: "param", Index: index, RuleID: r.ID, Field: "param", Warning: true,
			Message: fault.Message + ", unless the program gives the engine an extractor of that name", Want: fault.Want}
		if index < len(items) {
			p.Position = items[index].Locate("param")
			index++
		}
		d.Problems = append(d.Problems, p)
	}
	d.Problems = inOrder(d.Problems)
}

// readSentinel reads the rules of those kinds; only resources of Kubernetes hold several.
func readSentinel(name string, data []byte, dialect sentinel.Dialect, kinds []sentinel.Kind) (*Document, error) {
	d := &Document{Name: name, Format: Sentinel}
	all := cordon.Decoded{Partial: true}
	for i, kind := range kinds {
		if i > 0 {
			d.Kind += ", "
		}
		d.Kind += kind.String()
		read, err := sentinel.Decode(kind, name, data, sentinel.WithDialect(dialect))
		if err != nil {
			d.refuse(err)
			d.read = nil
			return d, nil
		}
		switch read.Dialect {
		case sentinel.Java:
			d.Format = SentinelJava
		case sentinel.Go:
			d.Format = SentinelGo
		case sentinel.CRD:
			d.Format = SentinelCRD
		}
		add(&all.Rules, read.Rules())
		d.read = append(d.read, read)
		all.Problems = append(all.Problems, read.Problems...)
	}
	d.take(all)
	return d, nil
}

// add adds rules to others.
func add(to *cordon.Rules, more cordon.Rules) {
	to.Flow = append(to.Flow, more.Flow...)
	to.Concurrency = append(to.Concurrency, more.Concurrency...)
	to.Breaker = append(to.Breaker, more.Breaker...)
	to.Isolation = append(to.Isolation, more.Isolation...)
	to.Param = append(to.Param, more.Param...)
	to.System = append(to.System, more.System...)
	to.Authority = append(to.Authority, more.Authority...)
	to.APIGroup = append(to.APIGroup, more.APIGroup...)
}

// take keeps what a decoder made of the document. Rules without an id get the one that an engine would give them.
func (d *Document) take(decoded cordon.Decoded) {
	d.Rules, d.Problems, d.Partial = decoded.Rules, inOrder(decoded.Problems), decoded.Partial
	rule.DeriveIDs("flow", d.Rules.Flow)
	rule.DeriveIDs("concurrency", d.Rules.Concurrency)
	rule.DeriveIDs("breaker", d.Rules.Breaker)
	rule.DeriveIDs("isolation", d.Rules.Isolation)
	rule.DeriveIDs("param", d.Rules.Param)
	rule.DeriveIDs("system", d.Rules.System)
	rule.DeriveIDs("authority", d.Rules.Authority)
	rule.DeriveIDs("apiGroup", d.Rules.APIGroup)
}

// refuse keeps why the document cannot be read as a whole.
func (d *Document) refuse(err error) {
	d.Broken = true
	var problems rule.Problems
	var problem rule.Problem
	switch {
	case errors.As(err, &problems):
		d.Problems = inOrder(problems)
	case errors.As(err, &problem):
		d.Problems = rule.Problems{problem}
	default:
		d.Problems = rule.Problems{{Source: d.Name, Index: -1, Message: err.Error()}}
	}
}

// inOrder sorts problems by where they are in the document.
func inOrder(problems rule.Problems) rule.Problems {
	slices.SortStableFunc(problems, func(a, b rule.Problem) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
	return problems
}

// startsList reports whether the document's first character, after spaces and comments, begins a list as all Sentinel documents are. Native ones never are.
func startsList(data []byte) bool {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	for {
		data = bytes.TrimLeft(data, " \t\r\n")
		switch {
		case bytes.HasPrefix(data, []byte("//")), bytes.HasPrefix(data, []byte("#")):
			_, data, _ = bytes.Cut(data, []byte("\n"))
		case bytes.HasPrefix(data, []byte("/*")):
			_, data, _ = bytes.Cut(data, []byte("*/"))
		default:
			return bytes.HasPrefix(data, []byte("["))
		}
	}
}
