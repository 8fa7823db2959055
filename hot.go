package cordon

import (
	"sync/atomic"
	"unsafe"
)

const (
	hotNames = 256
	// hotLength is how long a name may be that hot keeps alive.
	hotLength = 256
	// hotPatience is how often a place is found taken by another name before it is given to the one that finds it so.
	hotPatience = 256
)

// hot finds resources by where the name's bytes lie, before any hashing: most programs call their resources by constants, or by strings
// they keep. An entry keeps its string alive, so nothing else can come to lie there: the same address and length is the same name. Places are
// directly mapped, and taken by who comes first, so that names made anew for every call find them full and cost no allocation.
type hot [hotNames]atomic.Pointer[hotName]

type hotName struct {
	name   string
	res    *resource
	misses atomic.Uint32 // how often another name was looked for here
}

// at returns the place of a name.
func (h *hot) at(name string) *atomic.Pointer[hotName] {
	address := uintptr(unsafe.Pointer(unsafe.StringData(name)))
	return &h[(address>>3^address>>11)%hotNames]
}

// find returns the resource of a name that lies where one lay that was put there, or nil. A resource that rests or was dropped is not found.
func (h *hot) find(name string) *resource {
	e := h.at(name).Load()
	if e == nil || unsafe.StringData(e.name) != unsafe.StringData(name) || len(e.name) != len(name) || e.res.table.Load() == nil {
		return nil
	}
	return e.res
}

// put remembers the resource of a name that was not found here, if its place is free, or its time has come.
func (h *hot) put(name string, r *resource) {
	if len(name) == 0 || len(name) > hotLength {
		return
	}
	at := h.at(name)
	if e := at.Load(); e == nil || e.misses.Add(1)%hotPatience == 0 {
		at.CompareAndSwap(e, &hotName{name: name, res: r})
	}
}
