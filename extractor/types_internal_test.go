package extractor

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// typeOf returns one of many types.
func typeOf(i int) reflect.Type { return reflect.ArrayOf(i, reflect.TypeFor[struct{}]()) }

func TestTypesAreRememberedUpToABound(t *testing.T) {
	var table typeTable
	for i := range maxTypes + 10 {
		first := &program{}
		require.Nil(t, table.get(typeOf(i)))
		require.Same(t, first, table.put(typeOf(i), first))
		if i >= maxTypes {
			require.Nil(t, table.get(typeOf(i)), "there is no room")
			require.True(t, first.reported.Load(), "nor for what was said")
			continue
		}
		require.Same(t, first, table.get(typeOf(i)))
		require.Same(t, first, table.put(typeOf(i), &program{}), "whoever comes second uses the first's")
		require.Same(t, first, table.get(typeOf(i)))
	}
	for i := range maxTypes {
		require.NotNil(t, table.get(typeOf(i)))
	}
}

// Types beyond those remembered are not said to misfit, or they would be on every call.
func TestMisfitsBeyondTheBound(t *testing.T) {
	p, err := Compile("arg[0].x", Options{})
	require.NoError(t, err)
	said := 0
	for i := range 2 * maxTypes {
		for range 2 {
			var list List
			if p.Extract(&Call{Args: []any{reflect.New(typeOf(i)).Interface()}}, &list) != nil {
				said++
			}
		}
	}
	require.Equal(t, maxTypes, said)
}

// panicky is a walker that fails at compiling.
type panicky struct{}

func (panicky) Walk(t reflect.Type, _ []Step) (Getter, bool, error) { panic("cannot walk") }

// wordy says why a path does not fit, in its own words.
type wordy struct{ err error }

func (w wordy) Walk(t reflect.Type, _ []Step) (Getter, bool, error) {
	return nil, t == reflect.TypeFor[*List](), w.err
}

func TestWalkersThatFail(t *testing.T) {
	for _, c := range []struct {
		walker Walker
		want   string
	}{
		{panicky{}, `extractor: path "arg[0].x": compiling for *extractor.List panicked: cannot walk`},
		{wordy{}, `extractor: path "arg[0].x" does not fit *extractor.List: at .x, there is no such field`},
		{wordy{fmt.Errorf("too far")}, `extractor: path "arg[0].x" does not fit *extractor.List: at .x, too far`},
		{wordy{&TypeError{Type: "list", Step: ".x", Message: "not mine"}}, `extractor: path "arg[0].x" does not fit list: at .x, not mine`},
	} {
		p, err := Compile("arg[0].x", Options{Walkers: []Walker{c.walker}})
		require.NoError(t, err)
		var list List
		require.EqualError(t, p.Extract(&Call{Args: []any{&List{}}}, &list), c.want)
	}
}

// asked notes the types that it is asked for, and knows none.
type asked map[string]bool

func (a asked) Walk(t reflect.Type, _ []Step) (Getter, bool, error) {
	a[t.String()] = true
	return nil, false, nil
}

func TestWalkersAreAskedForTypesThatMayBeTheirs(t *testing.T) {
	type inner struct{ ID *int }
	type outer struct {
		In   any
		List []*inner
	}
	seen := asked{}
	id := 5
	for _, path := range []string{"arg[0].in.x.id", "arg[0].list[0].id"} {
		p, err := Compile(path, Options{Walkers: []Walker{seen}})
		require.NoError(t, err)
		var list List
		require.NoError(t, p.Extract(&Call{Args: []any{&outer{map[string]any{"x": inner{&id}}, []*inner{{&id}}}}}, &list))
		require.Equal(t, Int(5), list.At(0))
	}
	require.Equal(t, asked{"*extractor.outer": true, "extractor.outer": true, "extractor.inner": true, "*extractor.inner": true, "*int": true}, seen)
}
