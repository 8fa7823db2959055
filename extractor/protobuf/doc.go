// Package protobuf lets paths of package extractor go through protobuf messages: generated ones of every API level (open, hybrid, opaque), and dynamic ones.
//
//	options := extractor.Options{Walkers: []extractor.Walker{protobuf.Walker()}}
//	path, err := extractor.Compile("arg[0].customer.id", options)
//
// A step is a field by its name in the .proto file (display_name), its JSON name (displayName), or either in other case and without underscores (DisplayName, as in Go). What is
// there is taken as follows.
//
//   - A field that is not set is absent, if it can tell: a message, a member of a oneof of which another or none is set, an optional field. One that cannot tell (of proto3 without
//     optional) is its zero value. A nil message is absent, whatever the path.
//   - An enum is the name of its value, as in JSON; a number without a name is that number.
//   - Maps go by key, as by_name.ann or by_number[7], repeated fields by index; [*] takes every element, [*?] that of a repeated field or ListValue, and anything else itself.
//   - google.protobuf.Timestamp and Duration are what time.Time and time.Duration are in Go: RFC 3339 in UTC, and 1m30s. The wrappers (StringValue and the like) are the value that they
//     wrap. The steps into a Struct, Value or ListValue are those into JSON.
//   - An Any is what it holds, if that type is known to the program (see WalkerOf); else it is absent. Looking into it decodes it, up to 64 KiB.
package protobuf
