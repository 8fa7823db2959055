// Package apigroup groups request paths, so that calls of a group count on a resource of the group's name besides that of their route, and rules hold for it: Sentinel's API definitions.
package apigroup
