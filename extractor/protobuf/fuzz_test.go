package protobuf_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/extractor/protobuf/testdata/hybridapi"
	"github.com/cordon-go/cordon/extractor/protobuf/testdata/opaqueapi"
	"github.com/cordon-go/cordon/extractor/protobuf/testdata/openapi"
)

// FuzzMessage looks into whatever decodes as a message: it never panics, and has the same values in a message of every kind, though there are three ways through them.
func FuzzMessage(f *testing.F) {
	for _, text := range []string{full, "", `customer {} note {} card: ""`, `customer { age: -1 partner { display_name: "p" } } within { seconds: -1 nanos: 5 } value { list_value { values { null_value: NULL_VALUE } } }`} {
		m := &openapi.Order{}
		require.NoError(f, prototext.Unmarshal([]byte(text), m))
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(b)
	}
	paths := map[string]*extractor.Path{}
	for path := range fullPaths {
		paths[path] = compile(f, "arg[0]."+path)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		messages := []proto.Message{&openapi.Order{}, &hybridapi.Order{}, &opaqueapi.Order{}, dynamicpb.NewMessage((&openapi.Order{}).ProtoReflect().Descriptor())}
		if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, messages[0]) != nil {
			return
		}
		b, err := proto.Marshal(messages[0]) // what is decoded as a dynamic message must be well formed
		require.NoError(t, err)
		for _, m := range messages[1:] {
			require.NoError(t, proto.Unmarshal(b, m))
		}
		for path, p := range paths {
			want, wantErr := extract(p, messages[0])
			var fault *extractor.CallError
			if wantErr != nil {
				require.NotErrorIs(t, wantErr, extractor.ErrNotJSON)
				if require.ErrorAs(t, wantErr, &fault); fault.Panicked {
					t.Fatal(wantErr)
				}
			}
			for _, m := range messages[1:] {
				got, err := extract(p, m)
				if (err == nil) != (wantErr == nil) || got != want {
					t.Fatalf("%s in %T is %q (%v), want %q (%v)", path, m, got, err, want, wantErr)
				}
			}
		}
	})
}
