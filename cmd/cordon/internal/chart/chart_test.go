package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

// element is an element of a chart.
type element struct {
	name, class, title string
}

// parse returns the elements of a chart, which must be well-formed and hold no script and nothing from elsewhere.
func parse(t *testing.T, svg []byte) (list []element, texts []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			require.Empty(t, open)
			return list, texts
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local}
			require.NotEqual(t, "script", e.name)
			for _, a := range token.Attr {
				require.NotContains(t, []string{"href", "src", "onload", "onclick"}, a.Name.Local)
				if a.Name.Local == "class" {
					e.class = a.Value
				}
			}
			open = append(open, e.name)
			list = append(list, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if n := len(open); n > 1 && open[n-1] == "title" && len(list) > 1 {
				list[len(list)-2].title = string(token)
			} else if n > 0 && open[n-1] == "text" {
				texts = append(texts, string(token))
			}
		}
	}
}

func classes(list []element, class string) (titles []string) {
	for _, e := range list {
		if e.class == class && e.title != "" {
			titles = append(titles, e.title)
		}
	}
	return titles
}

func draw(t *testing.T, results ...*sim.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, "a <b> & \"c\"", results))
	return b.Bytes()
}

func run(t *testing.T, s sim.Scenario, p sim.Policy) *sim.Result {
	t.Helper()
	r, err := sim.Run(s, p)
	require.NoError(t, err)
	return r
}

func sick(n int) sim.Scenario {
	instances := sim.Instances(n, sim.Instance{})
	instances[n-1].Ill = []sim.Script{sim.Between(20*time.Second, 40*time.Second, sim.Dead())}
	instances[n-1].Address = "bad & <ugly>"
	return sim.Scenario{Length: 2 * time.Minute, Instances: instances, Clients: []sim.Client{{Loads: []sim.Load{{Rate: 10 * float64(n)}}}}}
}

func TestChartIsWellFormedAndTheSameEachTime(t *testing.T) {
	t.Parallel()
	r := run(t, sick(5), sim.Cordon{})
	svg := draw(t, r)
	require.Equal(t, svg, draw(t, run(t, sick(5), sim.Cordon{})))
	list, texts := parse(t, svg)
	require.Contains(t, texts, `a <b> & "c"`)
	require.Contains(t, texts, "cordon")
	require.Equal(t, []string{"bad & <ugly> ill, from 20s until 40s"}, classes(list, "ill"))
	require.Len(t, classes(list, "out"), len(r.Absences))
	require.Len(t, r.Absences, 1)
	require.True(t, strings.HasPrefix(classes(list, "out")[0], "bad & <ugly> out, from 20."), classes(list, "out")[0])
	require.Equal(t, []string{"bad & <ugly>"}, classes(list, "s4"))
	require.NotEmpty(t, classes(list, "failed"))
	require.Empty(t, classes(list, "refused"))
	require.Contains(t, string(svg), "prefers-color-scheme:dark")
}

// With more instances than colours those are shown that something happened to, and the rest together; several policies have the same colours.
func TestManyInstances(t *testing.T) {
	t.Parallel()
	cordon, none := run(t, sick(30), sim.Cordon{}), run(t, sick(30), sim.None{})
	list, texts := parse(t, draw(t, none, cordon))
	require.Equal(t, []string{"i0", "i1", "i2", "i3", "i4", "i5", "bad & <ugly>", "23 others"}, texts[1:9])
	require.Equal(t, []string{"bad & <ugly>", "bad & <ugly>"}, classes(list, "s6"))
	require.Equal(t, []string{"23 others", "23 others"}, classes(list, "s7"))
	require.Len(t, classes(list, "ill"), 2)
	require.Len(t, classes(list, "out"), 1)
}

func TestFallbacksHaveARow(t *testing.T) {
	t.Parallel()
	event := func(at time.Duration, client int, kind isolation.EventKind) sim.Event {
		return sim.Event{Event: isolation.Event{At: at, Kind: kind}, Client: client, Instance: -1}
	}
	r := run(t, sick(2), sim.None{})
	r.Clients = []sim.ClientResult{{Name: "a"}, {Name: "b"}}
	list, _ := parse(t, draw(t, r))
	require.Empty(t, classes(list, "fallback"))
	r.Events = []sim.Event{
		event(10*time.Second, 0, isolation.EventFallbackOn), event(20*time.Second, 1, isolation.EventFallbackOn),
		event(30*time.Second, 0, isolation.EventFallbackOff), event(40*time.Second, 0, isolation.EventFallbackOff),
	}
	list, texts := parse(t, draw(t, r))
	require.Equal(t, []string{"fallback at a, from 10s until 30s", "fallback at b, from 20s until the end"}, classes(list, "fallback"))
	require.Contains(t, texts, "fallback")
}

// A region that was left as a whole has a row of its own.
func TestRegionsHaveRows(t *testing.T) {
	t.Parallel()
	r := run(t, sick(2), sim.None{})
	event := func(at time.Duration, kind isolation.EventKind) sim.Event {
		return sim.Event{Event: isolation.Event{At: at, Kind: kind, Address: "east"}, Instance: -1}
	}
	r.Events = []sim.Event{event(10*time.Second, isolation.EventQuarantined), event(20*time.Second, isolation.EventQuarantined), event(30*time.Second, isolation.EventInService)}
	list, texts := parse(t, draw(t, r))
	require.Equal(t, []string{"region east out, from 10s until 30s"}, classes(list, "out"))
	require.Contains(t, texts, "region east")
}

// Without calls there is nothing to be shared, and with ever so many rows no more is drawn than can be seen.
func TestNoCallsAndManyBuckets(t *testing.T) {
	t.Parallel()
	s := sick(2)
	s.Clients[0].Loads[0].Rate = 0
	list, _ := parse(t, draw(t, run(t, s, sim.None{})))
	require.Empty(t, classes(list, "s0"))
	s = sick(2)
	s.Bucket = 10 * time.Millisecond
	require.Less(t, len(draw(t, run(t, s, sim.None{}))), 40_000)
}

func TestWriteFails(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, Write(failing{}, "", []*sim.Result{run(t, sick(2), sim.None{})}), errFull)
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestScales(t *testing.T) {
	t.Parallel()
	for given, want := range map[float64]float64{0: .001, .0004: .001, .001: .001, .0011: .002, .03: .05, .05: .05, .2: .2, .21: .5, .6: 1, 1: 1} {
		require.InDelta(t, want, roundUp(given), 1e-12, "%v", given)
	}
	for _, length := range []time.Duration{time.Nanosecond, time.Millisecond, time.Second, 61 * time.Second, time.Hour, 1000 * time.Hour} {
		marks := length / step(length)
		require.LessOrEqual(t, marks, time.Duration(10), "%v", length)
		if length > time.Millisecond*10 {
			require.GreaterOrEqual(t, marks, time.Duration(3), "%v", length)
		}
	}
}
