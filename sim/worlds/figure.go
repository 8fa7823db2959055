package worlds

import "github.com/cordon-go/cordon/sim"

// Figure is one of the Figures: the one that a world is about.
type Figure uint8

const (
	// Found is the time until the last of the sick instances was taken out for the first time, in seconds.
	Found Figure = iota
	// SickShare is the share of all calls that the sick instances got, in percent.
	SickShare
	// Full is the time from the cure until full weight, in seconds.
	Full
	// False is the number of quarantines of instances that were well.
	False
	// Failed is the share of calls that failed, in percent.
	Failed
)

// String returns the figure with its unit, as a table's heading says it.
func (f Figure) String() string {
	return [...]string{"found after, s", "share of calls, %", "full weight after, s", "false quarantines", "failed calls, %"}[min(f, Failed)]
}

// Of returns the figure in its unit; false if it never came to it.
func (f Figure) Of(all *Figures) (value float64, ok bool) {
	switch f {
	case Found:
		return all.Found.Seconds(), all.Found != sim.Forever
	case SickShare:
		return 100 * all.SickShare, true
	case Full:
		return all.Full.Seconds(), all.Full != sim.Forever
	case False:
		return float64(all.False), true
	}
	return 100 * all.Failed, true
}
