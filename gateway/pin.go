package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

// maxPinBytes bounds the document that the admin handler reads.
const maxPinBytes = 64 << 10

// Pin says which upstream is to be taken out of service or kept in it by hand, in all routes of the service that have it.
type Pin struct {
	// Service is the resource of the upstream's routes. Required.
	Service string `rule:"service"`
	// Address is the upstream's URL. Required.
	Address string `rule:"address"`
	// State is "out" or "in". Required, but to end a pin.
	State string `rule:"state"`
	// For is for how long, above 0; default: until it is ended, or the gateway is. Written as text, as "10m".
	For time.Duration `rule:"for"`
}

// problems returns what is wrong with the pin; ending says that it is to be ended.
func (p Pin) problems(ending bool) rule.Problems {
	var f faults
	if p.Service == "" {
		f.add("service", "is missing", "the resource of the upstream's routes")
	}
	if p.Address == "" {
		f.add("address", "is missing", "the upstream's URL")
	}
	switch {
	case ending && p.State != "":
		f.add("state", "is of no use to end a pin", "no such field")
	case ending && p.For != 0:
		f.add("for", "is of no use to end a pin", "no such field")
	case !ending && p.State != "in" && p.State != "out":
		f.add("state", fmt.Sprintf("%.100q is none", p.State), "in or out")
	}
	return f.list
}

// pinHandler answers a request to change a pin.
func (g *Gateway) pinHandler(change func(*Gateway, Pin) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !g.cfg.AdminWrite {
			writeText(w, http.StatusForbidden, "the gateway's configuration has no adminWrite: true, without which nothing may be changed here")
			return
		}
		p, err := readPin(w, r)
		if err != nil {
			writeText(w, http.StatusBadRequest, err.Error())
			return
		}
		text, err := change(g, p)
		if err != nil {
			writeText(w, pinStatus(err), err.Error())
			return
		}
		writeText(w, http.StatusOK, text)
	}
}

// readPin reads a pin, strictly.
func readPin(w http.ResponseWriter, r *http.Request) (Pin, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPinBytes))
	if err != nil {
		return Pin{}, err
	}
	node, err := rule.Parse(data)
	if err != nil {
		return Pin{}, err
	}
	var p Pin
	problems := rule.Decode(node, &p, "")
	if len(problems) == 0 {
		problems = p.problems(r.Method == http.MethodDelete)
	}
	if len(problems) > 0 {
		return Pin{}, problems
	}
	return p, nil
}

func pinStatus(err error) int {
	switch {
	case errors.Is(err, isolation.ErrUnknownInstance):
		return http.StatusNotFound
	case errors.Is(err, isolation.ErrLastInstance):
		return http.StatusConflict
	}
	return http.StatusBadRequest
}

// pin puts a pin in force, and says in words what it does.
func (g *Gateway) pin(p Pin) (string, error) {
	address := nethttp.Target{URL: p.Address}.Address()
	if err := g.eng.PinInstance(p.Service, address, p.State == "in", p.For); err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s of %s is kept out of service", address, p.Service)
	if p.State == "in" {
		text = fmt.Sprintf("%s of %s is kept in service", address, p.Service)
	}
	if p.For > 0 {
		return text + " for " + rule.DurationText(p.For), nil
	}
	return text + " until it is unpinned", nil
}

// unpin ends a pin.
func (g *Gateway) unpin(p Pin) (string, error) {
	address := nethttp.Target{URL: p.Address}.Address()
	if err := g.eng.UnpinInstance(p.Service, address); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s of %s is not pinned", address, p.Service), nil
}
