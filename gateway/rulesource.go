package gateway

import (
	"fmt"

	"github.com/cordon-go/cordon/sentinel"
)

// RuleSource is what rules are taken from: a file, or documents on the Nacos server.
type RuleSource struct {
	// File is a file's path. In a configuration read by Load, paths are relative to the configuration's folder. Exactly one of File and Nacos is given, each once.
	File string `rule:"file"`
	// Nacos names documents on the server that Config.Nacos is about.
	Nacos NacosDocument `rule:"nacos"`
	// Format is what the document holds; default native. Documents of an app (Nacos.App) are Sentinel's whatever it says.
	Format Format `rule:"format"`
	// Kind is what a Sentinel document's rules are about: flow, breaker, param ... Required there; not for an app, whose documents' names tell it.
	Kind sentinel.Kind `rule:"kind"`
	// Dialect is whose form a Sentinel document has: java, go or crd; default: told by the document, and by each rule's keys.
	Dialect sentinel.Dialect `rule:"dialect"`
	// LastGood is the file that the newest good document is kept in, so that a gateway that starts while the source cannot be had starts with the rules it had last. For an app it is the
	// folder of these files. Default: none is kept.
	LastGood string `rule:"lastGood"`
}

// NacosDocument names a document on a Nacos server, or those of an app.
type NacosDocument struct {
	// DataID is the document's name. Exactly one of DataID and App is given.
	DataID string `rule:"dataId"`
	// App is the app whose documents are meant: those that Sentinel's dashboards keep of it, one for each kind of rules (<app>-flow-rules, <app>-degrade-rules ...). Those that do not exist
	// are no fault.
	App string `rule:"app"`
	// Group is the group the documents are in; default DEFAULT_GROUP, for an app SENTINEL_GROUP.
	Group string `rule:"group"`
	// EmptyClears takes a document that is deleted or empty for one without rules. By default that is a failure, and the rules that it had last stay in force: a server that has lost its data
	// looks the same.
	EmptyClears bool `rule:"emptyClears"`
}

// Format is what a document of rules holds.
type Format uint8

const (
	// Native is cordon's own document, of all kinds of rules.
	Native Format = iota
	// Sentinel is a list of rules of one kind, as Sentinel Java or sentinel-golang keeps it.
	Sentinel
)

// String returns native or sentinel.
func (f Format) String() string {
	switch f {
	case Native:
		return "native"
	case Sentinel:
		return "sentinel"
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// UnmarshalText reads native or sentinel.
func (f *Format) UnmarshalText(text []byte) error {
	switch string(text) {
	case "native":
		*f = Native
	case "sentinel":
		*f = Sentinel
	default:
		return fmt.Errorf("no format %q; want native or sentinel", text)
	}
	return nil
}

// Values lists the formats' names.
func (Format) Values() []string { return []string{"native", "sentinel"} }
