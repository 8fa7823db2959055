package protobuf_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/extractor/protobuf"
	"github.com/cordon-go/cordon/extractor/protobuf/testdata/hybridapi"
	"github.com/cordon-go/cordon/extractor/protobuf/testdata/opaqueapi"
	"github.com/cordon-go/cordon/extractor/protobuf/testdata/openapi"
)

const full = `
customer { id: 102 display_name: "Ann" tier: TIER_GOLD age: 0 partner { id: 103 tier: 99 } }
items { sku: "a" count: 1 } items { sku: "b" count: 2 } items { sku: "a" }
by_name { key: "ann" value { id: 1 } } by_name { key: "x.y" value { id: 2 } }
by_number { key: 7 value: "seven" } by_number { key: -1 value: "minus" } by_flag { key: true value: "yes" } by_id { key: 5 value { sku: "five" } }
card: "4711"
extra {
  fields { key: "user" value { struct_value { fields { key: "id" value { number_value: 102 } } fields { key: "roles" value { list_value { values { string_value: "x" } values { bool_value: true } } } } } } }
  fields { key: "none" value { null_value: NULL_VALUE } }
  fields { key: "5" value { string_value: "five" } }
}
detail { [type.googleapis.com/google.protobuf.StringValue] { value: "held" } }
note { value: "" } weight { value: 18446744073709551615 }
at { seconds: 1 nanos: 500000000 } within { seconds: 90 }
value { string_value: "102" } list { values { number_value: .5 } values { number_value: 2 } } mask { paths: "a" }
token: "\xff\x00" tags: "t" tags: "u" price: .1 ratio: .1 paid: true tiers: TIER_GOLD tiers: TIER_NONE
`

// orders returns the same order as a message of each kind.
func orders(t testing.TB, text string) map[string]proto.Message {
	all := map[string]proto.Message{
		"open": &openapi.Order{}, "hybrid": &hybridapi.Order{}, "opaque": &opaqueapi.Order{}, "dynamic": dynamicpb.NewMessage((&openapi.Order{}).ProtoReflect().Descriptor()),
	}
	for name, m := range all {
		require.NoError(t, prototext.Unmarshal([]byte(text), m), name)
	}
	return all
}

func compile(t testing.TB, path string) *extractor.Path {
	t.Helper()
	p, err := extractor.Compile(path, extractor.Options{Walkers: []extractor.Walker{protobuf.Walker()}})
	require.NoError(t, err)
	return p
}

// extract returns the texts at a path in an argument, sorted.
func extract(p *extractor.Path, arg any) (string, error) {
	var list extractor.List
	call := &extractor.Call{Args: []any{arg}}
	err := p.Extract(call, &list)
	if err == nil {
		list.Reset()
		err = p.Extract(call, &list) // the type is known now
	}
	var got []string
	for i := range list.Len() {
		got = append(got, list.At(i).String())
	}
	slices.Sort(got)
	return strings.Join(got, " "), err
}

var fullPaths = map[string]string{
	"customer.id": "102", "customer.display_name": "Ann", "customer.displayName": "Ann", "Customer.DisplayName": "Ann", "customer.DISPLAYNAME": "Ann", "customer.tier": "TIER_GOLD", "customer.age": "0",
	"customer.partner.id": "103", "customer.partner.tier": "99", "customer.partner.age": "", "customer.partner.display_name": "", "customer.partner.partner.id": "",
	"items[0].sku": "a", "items[-1].count": "0", "items[*].sku": "a b", "items[*?].sku": "a b", "items[*?].sku[*?]": "a b", "by_name[*?].ann.id[*?]": "1", "extra[*?].user.roles[*?]": "true x", "list[*?]": "0.5 2", "value[*?]": "102", "note[*?]": "", "tags[*?]": "t u", "token[*?]": "\xff\x00", "items[3].sku": "", "items[-4].sku": "",
	"by_name.ann.id": "1", `byName["x.y"].id`: "2", "by_name.bob.id": "", "by_name.ann.age": "", "by_name.ann.partner.id": "", "by_name[*].partner.id": "", "by_name[*].id": "1 2", "by_number[7]": "seven", "by_number[-1]": "minus", `by_number["7"]`: "seven", "by_number[8]": "", "by_flag.true": "yes", "by_flag.false": "", "by_id[5].sku": "five",
	"card": "4711", "account.id": "", "voucher": "", "reference": "",
	"extra.user.id": "102", "extra.user.roles[*]": "true x", "extra.user.roles[-1]": "true", "extra.user.roles[2]": "", "extra.none": "", "extra[5]": "five", "extra.user": "", "extra[*].id": "102", "extra.user.id.x": "", "extra.user.roles.x": "",
	"detail": "held", "detail.value": "held", "note": "", "note.value": "", "weight": "18446744073709551615", "at": "1970-01-01T00:00:01.5Z", "at.seconds": "1", "within": "1m30s", "value": "102", "value.x": "", "list[*]": "0.5 2", "list[0]": "0.5",
	"mask.paths[0]": "a", "token": "\xff\x00", "tags[*]": "t u", "price": "0.1", "ratio": "0.1", "paid": "true", "tiers[*]": "TIER_GOLD TIER_NONE",
}

func TestPathsThroughEveryKindOfMessage(t *testing.T) {
	for kind, order := range orders(t, full) {
		for path, want := range fullPaths {
			got, err := extract(compile(t, "arg[0]."+path), order)
			require.NoError(t, err, "%s %s", kind, path)
			require.Equal(t, want, got, "%s %s", kind, path)
		}
	}
}

// What is set to its zero value is there if it can tell, and what cannot tell is always there.
func TestPresence(t *testing.T) {
	count := func(m proto.Message, path string) int {
		var list extractor.List
		require.NoError(t, compile(t, path).Extract(&extractor.Call{Args: []any{m}}, &list))
		return list.Len()
	}
	for kind, order := range orders(t, `customer {} note {} card: "" value {}`) {
		for path, want := range map[string]int{
			"customer.id": 1, "customer.display_name": 1, "customer.tier": 1, "customer.age": 0, "customer.partner.id": 0, "note": 1, "weight": 0, "card": 1, "voucher": 0, "account.id": 0,
			"price": 1, "token": 1, "reference": 0, "at": 0, "within": 0, "value": 0, "extra.x": 0, "detail": 0, "list[0]": 0, "tags[0]": 0, "signature": 0,
		} {
			require.Equal(t, want, count(order, "arg[0]."+path), "%s %s", kind, path)
		}
	}
	for kind, order := range orders(t, `customer { age: 5 } reference: "" voucher: 0 signature: "" by_name { key: "a" value { age: 0 partner {} } }`) {
		for path, want := range map[string]int{"signature": 1, "by_name.a.age": 1, "by_name.a.partner.id": 1, "by_name.a.partner.age": 0, "customer.age": 1, "reference": 1, "voucher": 1, "card": 0} {
			require.Equal(t, want, count(order, "arg[0]."+path), "%s %s", kind, path)
		}
	}
	for _, m := range []proto.Message{(*openapi.Order)(nil), (*hybridapi.Order)(nil), (*opaqueapi.Order)(nil), (*dynamicpb.Message)(nil)} {
		require.Zero(t, count(m, "arg[0].customer.id"), "%T", m)
		require.Zero(t, count(m, "arg[0].price"), "a nil message has no values: %T", m)
	}
}

func TestWellKnownTypesAsArguments(t *testing.T) {
	held, err := anypb.New(&openapi.Customer{Id: 5})
	require.NoError(t, err)
	twice, err := anypb.New(held)
	require.NoError(t, err)
	s, err := structpb.NewStruct(map[string]any{"a": []any{map[string]any{"b": 1.5}}})
	require.NoError(t, err)
	for _, c := range []struct {
		path string
		arg  any
		want string
	}{
		{"arg[0]", wrapperspb.Int32(-3), "-3"}, {"arg[0]", wrapperspb.Bytes([]byte("b")), "b"}, {"arg[0]", wrapperspb.Bool(false), "false"}, {"arg[0]", wrapperspb.Double(.25), "0.25"}, {"arg[0]", wrapperspb.Float(.1), "0.1"},
		{"arg[0]", timestamppb.New(timestamppb.New((&timestamppb.Timestamp{Seconds: 5}).AsTime()).AsTime()), "1970-01-01T00:00:05Z"},
		{"arg[0]", &durationpb.Duration{Seconds: 1, Nanos: 5e8}, "1.5s"}, {"arg[0]", &durationpb.Duration{Seconds: -1, Nanos: -5e8}, "-1.5s"},
		{"arg[0]", &durationpb.Duration{Seconds: 1 << 40}, "2562047h47m16.854775807s"}, {"arg[0]", &durationpb.Duration{Seconds: -1 << 40}, "-2562047h47m16.854775808s"},
		{"arg[0]", &durationpb.Duration{Seconds: 9223372036, Nanos: 999999999}, "2562047h47m16.854775807s"}, {"arg[0]", &durationpb.Duration{Seconds: -9223372036, Nanos: -999999999}, "-2562047h47m16.854775808s"},
		{"arg[0].a[0].b", s, "1.5"}, {"arg[0].a[0].b", structpb.NewStructValue(s), "1.5"}, {"arg[0]", structpb.NewBoolValue(true), "true"}, {"arg[0]", structpb.NewNullValue(), ""},
		{"arg[0].id", held, "5"}, {"arg[0].id", twice, "5"}, {"arg[0].id", &anypb.Any{}, ""}, {"arg[0].id", &anypb.Any{TypeUrl: "type.googleapis.com/none.such"}, ""},
		{"arg[0].m.id", map[string]any{"m": &openapi.Customer{Id: 6}}, "6"}, {"arg[0].M.id", struct{ M *opaqueapi.Customer }{opaqueapi.Customer_builder{Id: 7}.Build()}, "7"},
		{"arg[0].M.id", struct{ M proto.Message }{&openapi.Customer{Id: 8}}, "8"}, {"arg[0][*].id", []*openapi.Customer{{Id: 1}, nil, {Id: 2}}, "1 2"},
		{"arg[0][*?].id", []*openapi.Customer{{Id: 1}, nil, {Id: 2}}, "1 2"}, {"arg[0][*?].id", &openapi.Customer{Id: 3}, "3"}, {"arg[0][*?]", wrapperspb.Int32(4), "4"}, {"arg[0][*?].id", held, "5"},
		{"arg[0].a[*?].b[*?]", s, "1.5"}, {"arg[0][*?].a[0][*?].b", s, "1.5"}, {"arg[0][*?]", structpb.NewStringValue("v"), "v"}, {"arg[0][*?].a[*?].b", structpb.NewStructValue(s), "1.5"},
		{"arg[0][*?]", s.Fields["a"].GetListValue(), ""}, {"arg[0][*?].b", s.Fields["a"].GetListValue(), "1.5"}, {"arg[0][*?].b", s.Fields["a"], "1.5"}, {"arg[0][*?][*?]", structpb.NewNumberValue(2), "2"},
	} {
		got, err := extract(compile(t, c.path), c.arg)
		require.NoError(t, err, "%s of %v", c.path, c.arg)
		require.Equal(t, c.want, got, "%s of %v", c.path, c.arg)
	}
}

// A struct that embeds a message is none.
func TestStructsThatEmbedMessages(t *testing.T) {
	type request struct {
		*openapi.Customer
		Extra string
	}
	r := &request{&openapi.Customer{Id: 5}, "e"}
	for path, want := range map[string]string{"arg[0].Extra": "e", "arg[0].id": "5", "arg[0].customer.id": "5"} {
		got, err := extract(compile(t, path), r)
		require.NoError(t, err)
		require.Equal(t, want, got, path)
	}
}

func TestAnysThatCannotBeRead(t *testing.T) {
	p := compile(t, "arg[0].id")
	url := "type.googleapis.com/" + string((&openapi.Customer{}).ProtoReflect().Descriptor().FullName())
	_, err := extract(p, &anypb.Any{TypeUrl: url, Value: []byte{0xff}})
	require.ErrorContains(t, err, "does not hold a cordon.test.openapi.Customer")
	_, err = extract(p, &anypb.Any{TypeUrl: url, Value: make([]byte, 64<<10+1)})
	require.ErrorContains(t, err, "more than the 65536")
	// Anys in each other end, however many there are.
	nest := &anypb.Any{TypeUrl: url}
	for range 20 {
		nest, err = anypb.New(nest)
		require.NoError(t, err)
	}
	got, err := extract(p, nest)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestTypesThatAPathDoesNotFit(t *testing.T) {
	held, err := anypb.New(&openapi.Item{Sku: "s"})
	require.NoError(t, err)
	for path, want := range map[string]string{
		"arg[0].custmer.id": "does not fit cordon.test.PACKAGE.Order: at .custmer, there is no such field; fields are: customer, items, by_name", "arg[0].customer": "cordon.test.PACKAGE.Customer: at its end, a message is no single value; name one of its fields: id, display_name",
		"arg[0]": "at its end, a message is no single value", "arg[0][0]": "at [0], a message has fields: customer", "arg[0].items": "a repeated field is no single value", "arg[0].items.sku": "at .sku, a repeated field has elements",
		"arg[0].by_name": "a map is no single value", "arg[0].by_number.x": "its keys are of type int32", "arg[0].by_flag.x": "its keys are of type bool", "arg[0].by_id[-1].sku": "its keys are of type uint64", "arg[0].price.x": "a value of type double has nothing inside",
		"arg[0].payment": "that is a oneof; name one of its fields: card, account, voucher", "arg[0].extra": "it is no single value", "arg[0].list": "it is no single value", "arg[0].mask": "a message is no single value",
	} {
		for kind, order := range orders(t, full) {
			p := compile(t, path)
			got, err := extract(p, order)
			var misfit *extractor.TypeError
			require.ErrorAs(t, err, &misfit, "%s %s", kind, path)
			pkg := map[string]string{"dynamic": "openapi", "open": "openapi", "hybrid": "hybridapi", "opaque": "opaqueapi"}[kind]
			require.ErrorContains(t, err, strings.ReplaceAll(want, "PACKAGE", pkg), path)
			require.Equal(t, path, misfit.Path)
			require.Empty(t, got)
			_, err = extract(p, order)
			require.NoError(t, err, "it was said")
		}
	}
	p := compile(t, "arg[0].id")
	_, err = extract(p, held)
	require.ErrorContains(t, err, "does not fit cordon.test.openapi.Item")
	_, err = extract(p, held)
	require.NoError(t, err)
	held, err = anypb.New(&openapi.Customer{Id: 9})
	require.NoError(t, err)
	got, err := extract(p, held)
	require.NoError(t, err)
	require.Equal(t, "9", got, "another type fits")
}

// newType returns a message type that nobody linked, with a field of that name.
func newType(t testing.TB, name string) protoreflect.MessageType {
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String(name + ".proto"), Package: proto.String("loaded"), Syntax: proto.String("proto2"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("M"), Field: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String(name), JsonName: proto.String(name), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
			{Name: proto.String("user_id"), Number: proto.Int32(2), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
			{Name: proto.String("UserId"), Number: proto.Int32(3), JsonName: proto.String("other"), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
		}}},
	}, nil)
	require.NoError(t, err)
	return dynamicpb.NewMessageType(file.Messages().Get(0))
}

// Dynamic messages of one Go type are of many types, more than are remembered, and used from many goroutines.
func TestManyDynamicTypes(t *testing.T) {
	p := compile(t, "arg[0].id")
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 150 {
				mt := newType(t, "id")
				m := mt.New()
				m.Set(mt.Descriptor().Fields().Get(0), protoreflect.ValueOfString(fmt.Sprint(g, "-", i)))
				for range 2 {
					if got, err := extract(p, m.Interface()); err != nil || got != fmt.Sprint(g, "-", i) {
						panic(fmt.Sprint(got, err))
					}
				}
			}
		})
	}
	group.Wait()
	_, err := extract(compile(t, "arg[0].USERID"), newType(t, "x").New().Interface())
	require.ErrorContains(t, err, "the fields user_id and UserId both mean that")
}

// Types that are not linked into the program can be looked up elsewhere.
func TestTypesFromElsewhere(t *testing.T) {
	mt := newType(t, "id")
	m := mt.New()
	m.Set(mt.Descriptor().Fields().Get(0), protoreflect.ValueOfString("loaded"))
	held, err := anypb.New(m.Interface())
	require.NoError(t, err)
	got, err := extract(compile(t, "arg[0].id"), held)
	require.NoError(t, err)
	require.Empty(t, got)
	var types protoregistry.Types
	require.NoError(t, types.RegisterMessage(mt))
	p, err := extractor.Compile("arg[0].id", extractor.Options{Walkers: []extractor.Walker{protobuf.WalkerOf(&types)}})
	require.NoError(t, err)
	got, err = extract(p, held)
	require.NoError(t, err)
	require.Equal(t, "loaded", got)
}

// Fields in messages of every kind are got without memory, but for what protobuf's own reflection makes for lists, maps and strings in a oneof.
func TestPathsAllocateLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for kind, order := range orders(t, full) {
		for path, most := range map[string]float64{"customer.id": 0, "customer.display_name": 0, "customer.tier": 0, "customer.age": 0, "extra.user.id": 0, "extra.user.roles[*]": 0, "note": 0, "items[*].sku": 1, "card": 1, "by_number[7]": 3} {
			if kind == "dynamic" && strings.HasPrefix(path, "extra") {
				most = 4
			}
			p := compile(t, "arg[0]."+path)
			call, list := &extractor.Call{Args: []any{order}}, &extractor.List{}
			allocs := testing.AllocsPerRun(100, func() {
				list.Reset()
				if err := p.Extract(call, list); err != nil || list.Len() == 0 {
					panic(fmt.Sprint(list.Len(), err))
				}
			})
			require.LessOrEqual(t, allocs, most, "%s %s", kind, path)
		}
	}
}
