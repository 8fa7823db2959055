package nacos

// A SentinelDocument is one of the documents that Sentinel's dashboards keep of an app.
type SentinelDocument struct {
	// Kind is what its rules are about, as package sentinel calls it, whose ParseKind reads it: flow, breaker, param, system, authority, gateway; or api for the
	// gateway's API definitions, which its flow rules refer to.
	Kind string
	// Source is where it is.
	Source *Source
}

// sentinelSuffixes are the kinds of documents and what their data ids end with.
var sentinelSuffixes = [...][2]string{
	{"flow", "-flow-rules"},
	{"breaker", "-degrade-rules"},
	{"param", "-param-rules"},
	{"system", "-system-rules"},
	{"authority", "-authority-rules"},
	{"gateway", "-gateway-flow-rules"},
	{"api", "-gateway-api-rules"},
}

// Sentinel returns the sources of an app's documents in the layout that Sentinel's dashboards use: <app>-flow-rules, <app>-degrade-rules, <app>-param-rules,
// <app>-system-rules, <app>-authority-rules, <app>-gateway-flow-rules and <app>-gateway-api-rules, in SentinelGroup unless Group says otherwise. Most apps have only some of them; the others are no
// failure (Optional), and are in force once they come. That none of them exists is none either: where it should not pass in silence, look for Health().Absent.
func (c *Client) Sentinel(app string, opts ...SourceOption) []SentinelDocument {
	var documents []SentinelDocument
	for _, s := range sentinelSuffixes {
		all := append([]SourceOption{Group(SentinelGroup), emptyArray(), Optional()}, opts...)
		documents = append(documents, SentinelDocument{Kind: s[0], Source: c.Source(app+s[1], all...)})
	}
	return documents
}

// emptyArray makes EmptyClears deliver Sentinel's document without rules.
func emptyArray() SourceOption {
	return sourceOptionFunc(func(s *Source) { s.empty = []byte("[]") })
}
