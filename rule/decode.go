package rule

// Decode fills the struct that into points to from an object node, strictly: an unknown or repeated key, a wrong type, a
// number out of the field's range, a duration without a unit are problems, each with its position, the path below
// base, and a suggestion (the nearest known key, the right form). Everything that can be filled is filled, and all problems are returned.
//
// Fields are named by the tag `rule:"name"`; fields without it are skipped. Known types: bool, string, ints, uints, floats,
// time.Duration ("250ms", "1m30s"; 0 may be bare; "2d" is not known to Go and is refused with a hint), Match, slices, maps with string keys, structs,
// pointers to these, and any type with UnmarshalText (an error of it becomes the problem's message).
func Decode(n *Node, into any, base string) Problems { panic("stub") }

// DecodeList decodes each item of a list node into a value of kind R (a struct), and checks it with its Problems.
// bad[i] tells whether item i had a fault; problems carry kind, index, id, and the position of the field they name
// (of the item, if they name none that is written). A nil node gives nothing.
func DecodeList[R Rule[R]](n *Node, kind, source string) (rules []R, bad []bool, problems Problems) {
	panic("stub")
}

// DeriveIDs gives every rule without an id a stable one, made from its kind's name, its match and its place among the rules with the same
// match ("orders.Create#1"), and reports ids that are used twice (the second is the fault).
func DeriveIDs[R Rule[R]](kind string, rules []R) Problems { panic("stub") }
