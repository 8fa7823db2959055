package flow

import (
	"math/bits"
	"time"
)

// A group of an exact window is one word:
//
//	lap 4 | used | share | stamp
//
// used counts the admissions of the group's life, share is the capacity that the group holds (in units of calls, see
// layout.unit), stamp is the time of the life's latest admission, in ticks, cut to its low bits. One word, so that the
// compare-and-swap that changes it checks the very stamp that was judged.
//
// A group with used 0 is empty and its stamp means nothing. A sealed word has more used than its share could hold.
const (
	lapBits  = 4
	lapShift = 64 - lapBits
	lapMask  = 1<<lapBits - 1
)

// A layout is how the words of one window are cut.
type layout struct {
	unit      int64 // calls per unit of a share: 1 up to maxCounted calls
	useShift  uint8
	useBits   uint8
	shareBits uint8
	stampBits uint8 // the share is above the stamp, so this is its shift too
	tick      uint8 // a tick is 1<<tick ns
	wrap      uint8 // 64 less the bits of a stamp in ns
}

const (
	// maxCounted is up to how many calls a window counts shares in single calls. Beyond, in 2048 to 4096 units.
	maxCounted = 1 << 15
	minUnits   = 2048
	maxUnits   = 4096
	// A limit above vast would leave too few bits to the stamp if one group could hold all of it: there a group holds
	// at most an eighth.
	vast = 1 << 28
	// spans is how many spans of time (see newLayout) a stamp must be able to tell apart, see window.era.
	spans = 8
)

// newLayout cuts words for a window of limit calls whose stamps lie within span of each other.
func newLayout(limit int64, span time.Duration) layout {
	l := layout{unit: unitFor(limit)}
	units := limit / l.unit
	if limit > vast {
		units /= 8
	}
	l.shareBits = uint8(bits.Len64(uint64(units)))
	l.useBits = uint8(bits.Len64(uint64(l.maxShare() * l.unit)))
	l.stampBits = lapShift - l.shareBits - l.useBits
	l.useShift = l.stampBits + l.shareBits
	if need := uint8(bits.Len64(uint64(span)*spans - 1)); need > l.stampBits {
		l.tick = need - l.stampBits
	}
	l.wrap = 64 - l.stampBits - l.tick
	return l
}

// unitFor returns how many calls a unit of share is: 1 for up to maxCounted calls, else such that nothing of the limit
// is lost if any number of units can do that, and less than 1/2048 of it otherwise.
func unitFor(limit int64) int64 {
	if limit <= maxCounted {
		return 1
	}
	for units := int64(maxUnits); units >= minUnits; units-- {
		if limit%units == 0 {
			return limit / units
		}
	}
	return limit/maxUnits + 1
}

func (l *layout) used(x uint64) int64 { return int64(x << lapBits >> ((lapBits + l.useShift) & 63)) }

func (l *layout) share(x uint64) int64 {
	return int64(x >> (l.stampBits & 63) & (1<<(l.shareBits&63) - 1))
}

// age returns how long before now the word's stamp is; it is negative for a stamp after now. It holds for words of
// the window's era only (see window.era).
func (l *layout) age(x uint64, now time.Duration) time.Duration {
	return time.Duration(int64((uint64(now)-x<<(l.tick&63))<<(l.wrap&63)) >> (l.wrap & 63))
}

// word makes a word, its stamp rounded up to the next tick: against the caller.
func (l *layout) word(lap uint64, used, share int64, stamp time.Duration) uint64 {
	ticks := uint64((int64(stamp) + 1<<l.tick - 1) >> l.tick)
	return lap<<lapShift | uint64(used)<<l.useShift | uint64(share)<<l.stampBits | ticks&(1<<l.stampBits-1)
}

// join returns the word with n more admissions, the latest at now, which is age after the word's stamp.
func (l *layout) join(x uint64, n int64, now, age time.Duration) uint64 {
	if age > 0 || l.used(x) == 0 {
		ticks := uint64((int64(now) + 1<<(l.tick&63) - 1) >> (l.tick & 63))
		mask := uint64(1)<<(l.stampBits&63) - 1
		x = x&^mask | ticks&mask
	}
	return x + uint64(n)<<(l.useShift&63)
}

// seal returns the word sealed, its lap and stamp kept.
func (l *layout) seal(x uint64) uint64 {
	use := uint64(1)<<l.useBits - 1
	share := uint64(1)<<l.shareBits - 1
	return (x | use<<l.useShift) &^ (share << l.stampBits)
}

// sealed reports whether a word is sealed.
func (l *layout) sealed(used, share int64) bool { return used > share*l.unit }

// units returns how many units n calls take.
func (l *layout) units(n int64) int64 { return (n + l.unit - 1) / l.unit }

// maxShare is the largest share that a word can hold.
func (l *layout) maxShare() int64 { return 1<<l.shareBits - 1 }
