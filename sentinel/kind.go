package sentinel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnsupported is in the error for documents of a kind that is recognised but not read yet.
var ErrUnsupported = errors.New("this kind of Sentinel rules is not supported yet")

// Kind is what the rules of a document are about.
type Kind uint8

// The kinds of documents. All but Outlier are read and written; that one is only recognised.
const (
	// Flow is Java's flow rules (which limit rates, and with grade 0 concurrency) and Go's flow rules.
	Flow Kind = iota + 1
	// Breaker is Java's degrade rules and Go's circuit breaker rules.
	Breaker
	// Isolation is Go's isolation rules, which limit concurrency. Java keeps these among its flow rules.
	Isolation
	// Param is Java's param flow rules and Go's hotspot rules, which limit each value of an argument by itself.
	Param
	// System is the system rules of both.
	System
	// Authority is Java's authority rules.
	Authority
	// Gateway is the flow rules of Java's gateway adapters.
	Gateway
	// API is the API definitions of Java's gateway adapters: groups of paths that gateway flow rules are for.
	API
	// Outlier is Go's outlier ejection rules.
	Outlier
)

var kindNames = []string{"", "flow", "breaker", "isolation", "param", "system", "authority", "gateway", "api", "outlier"}

// String returns the kind's name in lower case: flow, breaker, isolation ...
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Values returns the names of all kinds, as documents write them.
func (Kind) Values() []string { return slices.Clone(kindNames[1:]) }

// Supported reports whether documents of the kind are read and written.
func (k Kind) Supported() bool { return Flow <= k && k <= API }

// nameless reports whether rules of the kind are not known by the ids that a dialect's documents give. A system rule of Java's is several here; and gateway rules have none
// in Java but those by which its dashboard counts them, from 1 on as it does flow rules, with which they would be mixed up.
func (k Kind) nameless(d Dialect) bool { return d == Java && (k == System || k == Gateway) }

// javaOnly reports whether only Sentinel Java has such rules.
func (k Kind) javaOnly() bool { return k == Authority || k == Gateway || k == API }

// MarshalText returns the kind's name; an error if there is no such kind.
func (k Kind) MarshalText() ([]byte, error) {
	if k == 0 || int(k) >= len(kindNames) {
		return nil, fmt.Errorf("sentinel: no kind %d", uint8(k))
	}
	return []byte(k.String()), nil
}

// ParseKind returns the kind of that name, as UnmarshalText reads it.
func ParseKind(name string) (Kind, error) {
	var k Kind
	err := k.UnmarshalText([]byte(name))
	return k, err
}

// UnmarshalText reads a kind by its name or by what Sentinel and its friends call it (degrade, circuitbreaker, hotspot, gw-flow, apiDefinitions ...), in any case.
func (k *Kind) UnmarshalText(text []byte) error {
	if kind := wordKinds[fold(string(text))]; kind != 0 {
		*k = kind
		return nil
	}
	return fmt.Errorf("sentinel: no kind of rules %q; want one of %s", text, strings.Join(kindNames[1:], ", "))
}

// Dialect is whose form a document has.
type Dialect uint8

const (
	// Auto tells the dialect of each rule by its keys.
	Auto Dialect = iota
	// Java is Sentinel Java's form, its dashboard's entities included.
	Java
	// Go is sentinel-golang's form.
	Go
	// CRD is the form of sentinel-golang's resources for Kubernetes: objects with apiVersion, kind and spec.rules, in YAML or JSON. It is only read.
	CRD
)

var dialectNames = []string{"auto", "java", "go", "crd"}

// String returns auto, java, go or crd.
func (d Dialect) String() string {
	if int(d) >= len(dialectNames) {
		return fmt.Sprintf("Dialect(%d)", uint8(d))
	}
	return dialectNames[d]
}

// Values returns the names of all dialects, as documents write them.
func (Dialect) Values() []string { return slices.Clone(dialectNames) }

// sentinel names the dialect's owner in messages.
func (d Dialect) sentinel() string {
	if d == Java {
		return "Sentinel Java"
	}
	return "sentinel-golang"
}

// MarshalText returns what String does; an error if there is no such dialect.
func (d Dialect) MarshalText() ([]byte, error) {
	if int(d) >= len(dialectNames) {
		return nil, fmt.Errorf("sentinel: no dialect %d", uint8(d))
	}
	return []byte(dialectNames[d]), nil
}

// UnmarshalText reads auto, java, go or crd (also k8s and kubernetes), in any case.
func (d *Dialect) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "k8s", "kubernetes":
		*d = CRD
		return nil
	}
	for i, name := range dialectNames {
		if strings.EqualFold(name, string(text)) {
			*d = Dialect(i)
			return nil
		}
	}
	return fmt.Errorf("sentinel: no dialect %q; want one of %s", text, strings.Join(dialectNames, ", "))
}
