package worlds

import "github.com/cordon-go/cordon/sim"

// Kind is what a world asks for.
type Kind uint8

const (
	// Go worlds have sick instances, which must go.
	Go Kind = iota
	// Stay worlds have none: what happens, happens to all, or is too little to matter. Nobody may be taken out.
	Stay
	// Return worlds have an instance that gets well and is to have its share again, among others that are not perfect.
	Return
	// Latch worlds have so many sick ones that isolation is near its limits, and must find back.
	Latch
	// Beyond worlds have what the simple physics leaves out: latency, several clients, lists that change, capacity.
	Beyond
)

// String returns "go", "stay", "return", "latch" or "beyond".
func (k Kind) String() string {
	return [...]string{"go", "stay", "return", "latch", "beyond"}[min(k, Beyond)]
}

// World is a scenario that asks something.
type World struct {
	// Name is short, as "S1".
	Name string
	// About says in words what happens.
	About string
	// Kind is what it asks for, and Shows the figure that tells whether it got it.
	Kind  Kind
	Shows Figure
	// Scenario is what is to be run, with the seed of one's choice.
	Scenario sim.Scenario
}

// All returns all worlds, in the order of the documentation.
func All() []World {
	var all []World
	for _, list := range [][]World{sickOnes(), wellOnes(), returning(), latching(), beyond()} {
		all = append(all, list...)
	}
	return all
}

// Named returns the world of a name; false if there is none.
func Named(name string) (World, bool) {
	for _, w := range All() {
		if w.Name == name {
			return w, true
		}
	}
	return World{}, false
}
