package isolation

import (
	"errors"
	"fmt"
)

var (
	// ErrNoInstance says that a group has no instance to call: its list is empty, or all are drained.
	ErrNoInstance = errors.New("isolation: the service has no instances")
	// ErrClosed says that a group has no instance any more since it is closed. It is an ErrNoInstance too.
	ErrClosed = fmt.Errorf("%w: the group is closed", ErrNoInstance)
	// ErrAllOut says that all instances of a group are out of service, which can only be under a rule with MayEmpty.
	ErrAllOut = errors.New("isolation: all instances of the service are out of service")
	// ErrUnknownInstance says that a group has no instance of that address.
	ErrUnknownInstance = errors.New("isolation: no such instance")
	// ErrLastInstance refuses to pin the last instance in service out.
	ErrLastInstance = errors.New("isolation: it is the last instance in service")
)
