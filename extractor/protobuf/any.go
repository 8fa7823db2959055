package protobuf

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cordon-go/cordon/extractor"
)

const (
	// maxHeld is how many bytes of what an Any holds are decoded.
	maxHeld = 64 << 10
	// maxDepth is how many Anys may lie in each other.
	maxDepth = 8
)

// any adds the values in what an Any holds; none if its type is not known.
func (ps *programs) any(m protoreflect.Message, values *extractor.List, depth int) error {
	fields := m.Descriptor().Fields()
	url, held := m.Get(fields.ByNumber(1)).String(), m.Get(fields.ByNumber(2)).Bytes()
	if url == "" || depth == maxDepth {
		return nil
	}
	if len(held) > maxHeld {
		return fmt.Errorf("the Any holds %d bytes, more than the %d that are looked into", len(held), maxHeld)
	}
	t, err := ps.walker.types.FindMessageByURL(url)
	if err != nil {
		return nil
	}
	in := t.New()
	if err := (proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}).Unmarshal(held, in.Interface()); err != nil {
		return fmt.Errorf("the Any does not hold a %s: %w", in.Descriptor().FullName(), err)
	}
	return ps.run(in, values, depth+1)
}
