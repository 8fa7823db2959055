package demo

import (
	"fmt"
	"slices"
	"time"

	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
)

// A Finding is one promise and whether it held.
type Finding struct {
	// Chapter is the number of the chapter that found it.
	Chapter int
	// Text is what was seen, with its numbers.
	Text string
	// Held is whether that is what was promised.
	Held bool
}

// A Summary is what a run of the demo found.
type Summary struct {
	// Findings are all promises, in the order in which they were tried.
	Findings []Finding
	// Outcomes are the chapters' results in a line each, for those that were played to their end.
	Outcomes []string
	// Unplayed counts the chapters left out because one before them could not be played to its end.
	Unplayed int
	// Took is how long the run was.
	Took time.Duration
	// Calls counts the calls made, Refused those that rules refused, Lost those that got no proper answer.
	Calls, Refused, Lost int64
}

// Broken returns the findings that did not hold.
func (s Summary) Broken() []Finding {
	var broken []Finding
	for _, f := range s.Findings {
		if !f.Held {
			broken = append(broken, f)
		}
	}
	return broken
}

// found notes a finding and shows it.
func (s *stage) found(held bool, format string, args ...any) {
	f := Finding{Chapter: s.chapter, Text: fmt.Sprintf(format, args...), Held: held}
	s.summary.Findings = append(s.summary.Findings, f)
	s.screen.Printf("   %s %s", mark(s.screen, held), f.Text)
}

// held reports whether all promises of a chapter held.
func (s Summary) held(chapter int) bool {
	return !slices.ContainsFunc(s.Broken(), func(f Finding) bool { return f.Chapter == chapter })
}

// outcome notes the result of the chapter in a line.
func (s *stage) outcome(format string, args ...any) {
	s.summary.Outcomes = append(s.summary.Outcomes, fmt.Sprintf(format, args...))
}

func mark(scr *screen.Screen, held bool) string {
	if held {
		return scr.Paint(screen.Green, "✓")
	}
	return scr.Paint(screen.Red, "✗")
}

// allowedArrivals is how many calls a limit may let arrive in a second by the service's own clock: calls that were admitted apart can be
// held up on their way and arrive together, hence one in a hundred and one more.
func allowedArrivals(limit int) int { return limit + limit/100 + 1 }
