// Package authority says which callers may call what: white and black lists of origins.
package authority
