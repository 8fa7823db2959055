package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

// Isolation is what keeps sick upstreams out of service where no isolation rule says so: a rule of the gateway's own with one of the presets, or nothing.
type Isolation uint8

const (
	// StandardIsolation is a rule with isolation.Default.
	StandardIsolation Isolation = iota
	// CarefulIsolation is a rule with isolation.Careful.
	CarefulIsolation
	// QuickIsolation is a rule with isolation.Quick.
	QuickIsolation
	// NoIsolation leaves all in service.
	NoIsolation
)

// Values returns how documents write them.
func (Isolation) Values() []string { return []string{"default", "careful", "quick", "off"} }

// String returns "default", "careful", "quick" or "off".
func (i Isolation) String() string {
	if names := i.Values(); int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("Isolation(%d)", uint8(i))
}

// UnmarshalText reads what String writes.
func (i *Isolation) UnmarshalText(text []byte) error {
	found := slices.Index(i.Values(), string(text))
	if found < 0 {
		return fmt.Errorf("no isolation %q; want one of %s", text, strings.Join(i.Values(), ", "))
	}
	*i = Isolation(found)
	return nil
}

// preset returns the preset of the gateway's own rule.
func (i Isolation) preset() isolation.Preset {
	switch i {
	case CarefulIsolation:
		return isolation.Careful
	case QuickIsolation:
		return isolation.Quick
	}
	return isolation.Default
}

// OwnIsolation is the id of the isolation rule that the gateway brings itself, for all services that no other isolation rule is for.
const OwnIsolation = "gateway-default"

// ownRules is a source of the rules that the gateway brings itself. It is watched after the files: of rules for the same services the ones of an
// earlier source decide, so that whatever a file says comes before it, its default rule too.
type ownRules struct{ isolation isolation.Preset }

// Name is how reports and snapshots call it.
func (ownRules) Name() string { return "gateway" }

// Watch delivers the rules, which never change.
func (o ownRules) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	deliver(datasource.Update{Document: datasource.Document{Data: []byte(o.isolation.String()), Version: "built in"}})
	<-ctx.Done()
	return ctx.Err()
}

func (o ownRules) decode(string, []byte) (cordon.Decoded, error) {
	return cordon.Decoded{Rules: cordon.Rules{Isolation: []isolation.Rule{
		{ID: OwnIsolation, Service: rule.Default(), Preset: o.isolation},
	}}}, nil
}

// isolationText says in one line what was decided, and on which numbers.
func isolationText(e *isolation.Event) string {
	var b strings.Builder
	if e.Address != "" {
		b.WriteString(e.Address + " ")
	}
	b.WriteString(e.Kind.String())
	if e.Until > e.At {
		b.WriteString(" for " + (e.Until - e.At).Round(100*time.Millisecond).String())
	}
	if e.Kind == isolation.EventQuarantined && e.Strikes > 1 {
		fmt.Fprintf(&b, " (%v strikes)", e.Strikes)
	}
	if e.Reason != "" {
		b.WriteString(": " + e.Reason)
	}
	fmt.Fprintf(&b, "; %d of %d sick", e.Sick, e.Instances)
	return b.String()
}
