package rulefile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// Stdin is the name that documents read from the standard input go by.
const Stdin = "<stdin>"

// Kinds lists the kinds of Sentinel documents that can be read, for help texts.
func Kinds() string { return "flow, breaker (or degrade), isolation or param (or hotspot)" }

// ReadFile reads the document in a file, or in stdin when path is "-". kind is what a Sentinel document is about, "" to tell by its name and keys. The
// error says that the file cannot be read, or that it cannot be told what is in it; what is wrong with the document is in the document.
func ReadFile(stdin io.Reader, path, kind string) (*Document, error) {
	name, data := path, []byte(nil)
	var err error
	if path == "-" {
		name = Stdin
		data, err = io.ReadAll(stdin)
	} else {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	return Read(name, data, kind)
}

// Read reads a document, as ReadFile does.
func Read(name string, data []byte, kind string) (*Document, error) {
	if kind != "" {
		var k sentinel.Kind
		if err := k.UnmarshalText([]byte(kind)); err != nil {
			return nil, err
		}
		return readSentinel(name, data, k)
	}
	if !startsList(data) {
		return readNative(name, data)
	}
	// A document that does not parse has no keys to go by; its name may tell.
	root, _ := rule.ParseJSON(data, rule.ParseOptions{Lenient: true, AllowDuplicates: true})
	k, err := sentinel.KindOf(name, root)
	if err != nil {
		return nil, fmt.Errorf("%w (the kind is said by --kind)", err)
	}
	return readSentinel(name, data, k)
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

func readSentinel(name string, data []byte, kind sentinel.Kind) (*Document, error) {
	d := &Document{Name: name, Format: Sentinel, Kind: kind.String()}
	read, err := sentinel.Decode(kind, name, data)
	if err != nil {
		d.refuse(err)
		return d, nil
	}
	switch read.Dialect {
	case sentinel.Java:
		d.Format = SentinelJava
	case sentinel.Go:
		d.Format = SentinelGo
	}
	d.take(cordon.Decoded{Rules: read.Rules(), Problems: read.Problems, Partial: true})
	return d, nil
}

// take keeps what a decoder made of the document. Rules without an id get the one that an engine would give them.
func (d *Document) take(decoded cordon.Decoded) {
	d.Rules, d.Problems, d.Partial = decoded.Rules, inOrder(decoded.Problems), decoded.Partial
	rule.DeriveIDs("flow", d.Rules.Flow)
	rule.DeriveIDs("concurrency", d.Rules.Concurrency)
	rule.DeriveIDs("breaker", d.Rules.Breaker)
	rule.DeriveIDs("isolation", d.Rules.Isolation)
	rule.DeriveIDs("param", d.Rules.Param)
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
