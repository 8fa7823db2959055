// Package extractor gets a value out of a call: a field of an object in its arguments, a header, a cookie, a part of a path or of a JSON body, the
// caller's address. Rules on hot parameters limit by such values.
//
// What to get is written as a path:
//
//	arg[0].order.customer.id      a field of the first argument, through structs, maps, slices, pointers and getters
//	arg[-1]                       the last argument
//	arg[0].items[*].sku           every element: each of the values counts
//	header["X-Tenant"]            a header (also header.tenant, where the name is a plain word)
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
package extractor
