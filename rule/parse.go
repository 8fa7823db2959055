package rule

// NodeKind is the kind of a parsed value.
type NodeKind uint8

const (
	// Null is null, ~ or nothing.
	Null NodeKind = iota
	// Bool is true or false.
	Bool
	// Number is a number, its text kept as written.
	Number
	// String is a text.
	String
	// List is an array or a sequence.
	List
	// Object is an object or a mapping.
	Object
)

// A Node is a value of a parsed document, JSON or YAML, with its position.
type Node struct {
	Kind NodeKind
	Pos  Position
	// Text is a string's content, a number as written, or "true"/"false".
	Text string
	// Items are a list's elements.
	Items []Node
	// Fields are an object's members in written order.
	Fields []Field
}

// A Field is one member of an object.
type Field struct {
	Key   string
	Pos   Position
	Value Node
}

// Field returns the object's last member of that name (exactly), or nil.
func (n *Node) Field(key string) *Node { panic("stub") }

// ParseOptions says what a JSON parser accepts besides JSON. Documents are always UTF-8 (a byte order mark is skipped,
// UTF-16 is refused by name), at most 64 MiB, nested at most 64 deep.
type ParseOptions struct {
	// Lenient accepts what Java's fastjson does: // and /* */ and # comments, single quotes, bare keys, trailing commas, NaN, Infinity.
	Lenient bool
	// AllowDuplicates keeps members of the same name instead of refusing the document.
	AllowDuplicates bool
}

// ParseJSON parses one JSON value, keeping positions. The error is a Problem with position. It is fast: some 100 MB/s.
func ParseJSON(data []byte, opts ParseOptions) (*Node, error) { panic("stub") }

// ParseYAML parses one YAML document, keeping positions; anchors and aliases are bounded, merge keys work. The error is a Problem with position.
func ParseYAML(data []byte) (*Node, error) { panic("stub") }

// Parse parses JSON when the first character that is no space is { or [, else YAML.
func Parse(data []byte) (*Node, error) { panic("stub") }
