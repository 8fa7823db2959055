// Package chart draws what came of simulations as an SVG image: for each, which instance got which share of the traffic over time, which share of the calls failed, and when
// instances were ill and when they were out of service.
//
// It draws by itself what a chart library would be for: those for Go know no spans of time in rows, which is what a quarantine is, and put their colours
// into every element, while this image follows the reader's light or dark scheme. It needs no script and no other file.
package chart

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cordon-go/cordon/sim"
)

// The places of things, in pixels.
const (
	width       = 960.
	left        = 110. // where the time axis begins
	right       = 940. // and ends
	shareHeight = 130.
	failHeight  = 60.
	rowHeight   = 13.
	gap         = 16.
)

// Write draws the results, at least one and all of one scenario, one below the other.
func Write(w io.Writer, title string, results []*sim.Result) error {
	d := &drawing{}
	list := choose(results)
	d.legend(title, list)
	for _, r := range results {
		newPanel(d, r, list).draw()
	}
	return d.write(w, title)
}

// drawing collects an image's elements from top to bottom.
type drawing struct {
	b strings.Builder
	y float64 // where what comes next begins
}

func (d *drawing) put(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

// text writes a text. The class says how it looks and on which side of x it stands.
func (d *drawing) text(x, y float64, class, text string) {
	d.put(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, escape(text))
}

// rect draws a rectangle that says what it is to those who point at it.
func (d *drawing) rect(x, y, w, h float64, class, title string) {
	if title == "" {
		d.put(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s"/>`, x, y, w, h, class)
		return
	}
	d.put(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s"><title>%s</title></rect>`, x, y, w, h, class, escape(title))
}

func escape(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) // a strings.Builder does not fail
	return b.String()
}

// style is how classes look, in light and dark.
const style = `text{font:12px system-ui,sans-serif;fill:#1f2328}
.title{font-weight:600;font-size:14px}.end{text-anchor:end}.mid{text-anchor:middle}.small{font-size:10px;fill:#59636e}
.page{fill:#ffffff}.grid{stroke:#59636e;stroke-opacity:.25}.frame{fill:none;stroke:#59636e;stroke-opacity:.5}
.s0{fill:#4e79a7}.s1{fill:#f28e2b}.s2{fill:#76b7b2}.s3{fill:#edc948}.s4{fill:#b07aa1}.s5{fill:#59a14f}.s6{fill:#9c755f}.s7{fill:#a0a4a8}
.failed{fill:#d1242f}.refused{fill:#8250df;fill-opacity:.6}.ill{fill:#d1242f;fill-opacity:.25}.out{fill:#1f2328}.fallback{fill:#bf8700}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.page{fill:#0d1117}.grid,.frame{stroke:#9198a1}
.failed{fill:#ff6a69}.refused{fill:#a475f9}.ill{fill:#ff6a69;fill-opacity:.35}.out{fill:#e6edf3}.fallback{fill:#e3b341}}`

// write writes the image, now that its height is known.
func (d *drawing) write(w io.Writer, title string) error {
	height := d.y + 8
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">
<title>%s</title>
<style>%s</style>
<rect width="100%%" height="100%%" class="page"/>
%s</svg>
`, width, height, width, height, escape(title), escape(title), style, d.b.String())
	return err
}

// legend writes the title and says what the colours are.
func (d *drawing) legend(title string, list []series) {
	d.text(16, 24, "title", title)
	d.y = 42
	x := 16.
	entry := func(class, name string) {
		length := 26 + 7*float64(len([]rune(name)))
		if x+length > right {
			x = 16
			d.y += 18
		}
		d.rect(x, d.y-9, 11, 11, class, "")
		d.text(x+16, d.y, "", name)
		x += length
	}
	for i := range list {
		entry(fmt.Sprintf("s%d", i), list[i].name)
	}
	entry("failed", "failed calls")
	entry("refused", "refused by rules")
	entry("ill", "ill")
	entry("out", "out of service or growing back")
	entry("fallback", "fallback")
	d.y += 12
}

// at returns where a time is on the axis.
func at(t, length time.Duration) float64 {
	return left + (right-left)*float64(min(t, length))/float64(length)
}
