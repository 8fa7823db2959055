// Package extractor gets a value out of a call: a field of an object in its arguments, a header, a cookie, a part of a path or of a JSON body, the
// caller's address. Rules on hot parameters limit by such values.
//
// What to get is written as a path:
//
//	arg[0].order.customer.id      a field of the first argument, through structs, maps, slices, pointers and getters
//	arg[-1]                       the last argument
//	arg[0].items[*].sku           every element: each of the values counts
//	arg[0][*?]                    every element if it is a list, else itself
//	header["X-Tenant"]            a header (also header.x-tenant, where the name is a plain word)
//	query.uid  cookie.sid  path.id
//	meta["x-user"]  attachment.uid
//	body.user.id                  a member of a JSON body
//	peer.ip  client.ip            the address that the call comes from; the one of the client behind trusted proxies
//	method  origin  resource      what the call says of itself
//	value.tenant                  a value that the caller gave beside its arguments
//	header["X-Tenant"] + method   both together: a composite key
//	uid                           an extractor of one's own, by its name
//
// A path is compiled once, and once more for each type of argument that it meets; what it cannot find in a type is remembered too. A value has one
// canonical form whatever type it comes in: the number 102, the string "102" and a document's 102 are the same value (see Value).
//
// # Grammar
//
// In EBNF; spaces may stand around + and inside brackets.
//
//	path   = term { "+" term } .                      at most 8 terms and 1024 bytes
//	term   = word { step } .                          at most 32 steps
//	step   = "." word | "[" ( index | "*" | "*?" | quoted ) "]" .
//	index  = [ "-" ] decimal digits .                 without leading zeros; -1 is the last
//	word   = ( letter | "_" ) { letter | digit | "_" | "-" } .
//	quoted = `"` { character | escape } `"` | "'" { character | escape } "'" .
//	escape = `\\` | `\"` | `\'` | `\n` | `\r` | `\t` | `\u` and four hexadecimal digits .
//
// The first word is one of those above, or the name of an extractor of one's own. arg is followed by an index or [*] first; header, query, cookie, path, meta, attachment and
// value by one name; peer and client by .ip; body by any steps, or none; the others by nothing.
//
// # Steps into arguments
//
//   - A name is a struct's field: the one that is called so in Go, else by its json, protobuf or hessian tag, else the one whose first letter alone differs in case, else the one that
//     differs in case only. If two fields of the same depth mean it, none is taken; a field of an embedded struct is hidden by one of that name less deep, as in Go. If there is no such
//     field, it is the getter GetName() (of the type or of pointers to it), which may return a bool or an error beside the value. Fields that are not exported are never read.
//   - A name or an index is a key in a map whose keys are strings, integers or of any type. An index is an element of a slice or array. [*] is every element of those, and of maps.
//   - [*?] is every element of a slice, array or JSON array, and of anything else that itself, as if the step were not there; so too of bytes and other lists that are a single value, at the end of a
//     path.
//   - In a body, and in a json.RawMessage, every member of a name counts, whatever its case, if an object has several: readers do not agree on which of them it is, and none shall hide the
//     value that the handler takes. More than 8 of them are no JSON.
//   - Pointers and interfaces are passed through. What is nil, not there or out of range is absent.
//
// Other types are taught by a Walker, as protobuf messages are by package extractor/protobuf.
//
// Paths through fields, generic maps, headers and JSON need no memory, but for texts that lie in a body or in bytes, and for composites, which are copied. Getters and methods (String,
// MarshalText, Value) may, and getters take several times as long as fields.
package extractor
