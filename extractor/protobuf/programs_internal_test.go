package protobuf

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Types that are loaded anew all the time are not kept for ever.
func TestProgramsAreBounded(t *testing.T) {
	ps := &programs{}
	var last protoreflect.MessageDescriptor
	for i := range 3 * maxTypes {
		file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{Name: proto.String(fmt.Sprint(i)), MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("M")}}}, nil)
		require.NoError(t, err)
		last = file.Messages().Get(0)
		k := ps.of(last)
		require.Same(t, k, ps.of(last), "it is remembered")
		require.LessOrEqual(t, len(*ps.now.Load()), maxTypes)
	}
	require.Greater(t, len(*ps.now.Load()), 1)
}
