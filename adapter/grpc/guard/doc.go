// Package guard is a user of the adapter, in a module of its own outside the workspace. The script run builds and tests it and the adapter with the version of gRPC that the
// adapter asks for, and with the newest there is: much of what the adapter stands on is marked as experimental there.
package guard
