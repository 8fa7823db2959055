// Package arch holds no code but tests: those of the laws that the whole tree keeps. They read every package's source, nested
// modules included, so that a law broken anywhere is a red test that says where. Each law is a
// function from a package to what is wrong with it, tested itself on a small bad source.
package arch
