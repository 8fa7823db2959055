package flow

import (
	"math/bits"
	"time"
)

// A group of an exact window is one word:
//
//	sealed 1 | lap 3 | mixed 1 | free | share | stamp
//
// share is the capacity that the group holds, in units of calls (see layout.unit), free is how many calls of it are not
// taken, stamp is the time of the life's latest admission, in ticks, cut to its low bits. One word, so that the compare-and-swap
// that changes it checks the very stamp that was judged. The stamp of an empty group (all free) means nothing. mixed
// tells that the life took over the admissions of the one before, see window.absorb.
const (
	lapShift = 60
	lapMask  = 1<<3 - 1
	sealed   = 1 << 63
	mixed    = 1 << fieldBits
	// fieldBits is how many bits free, share and stamp have.
	fieldBits = lapShift - 1
)

// A layout is how the words of one window are cut.
type layout struct {
	unit      int64 // calls per unit of a share, 1 for up to maxCounted calls
	freeShift uint8
	shareBits uint8
	stampBits uint8 // the share is above the stamp, so this is its shift too
	tick      uint8 // a tick is 1<<tick ns
	wrap      uint8 // 64 less the bits of a stamp in ns
}

const (
	// maxCounted is up to how many calls a window counts shares in single calls. Beyond, it has half to all of as many units.
	maxCounted = 1 << 15
	// A limit above vast would leave too few bits to the stamp if one group could hold all of it, in units as small: there a
	// group holds less than an eighth, and there are an eighth as many units.
	vast = 1 << 28
	// spans is how many spans of time (see newLayout) a stamp must be able to tell apart, see windowupkeep.go.
	spans = 8
)

// newLayout cuts words for a window of limit calls, of which one group may have to hold all, or held if that is more, and
// whose stamps lie within span of each other.
func newLayout(limit, held int64, span time.Duration) layout {
	l := layout{unit: unitFor(limit)}
	units := max(limit/l.unit, l.units(held))
	if limit > vast {
		units = max(limit/8/l.unit-1, l.units(held))
	}
	l.shareBits = uint8(bits.Len64(uint64(units)))
	freeBits := uint8(bits.Len64(uint64(l.maxShare() * l.unit)))
	l.freeShift = fieldBits - freeBits
	l.stampBits = l.freeShift - l.shareBits
	if need := uint8(bits.Len64(uint64(span)*spans - 1)); need > l.stampBits {
		l.tick = need - l.stampBits
	}
	l.wrap = 64 - l.stampBits - l.tick
	return l
}

// unitFor returns how many calls a unit of share is: 1 for up to maxCounted calls, else such that nothing of the limit
// is lost if a number of units can do that. What is lost otherwise is less than a unit.
func unitFor(limit int64) int64 {
	most := int64(maxCounted)
	if limit > vast {
		most /= 8
	}
	if limit <= most {
		return 1
	}
	for units := most; units >= most/2; units-- {
		if limit%units == 0 {
			return limit / units
		}
	}
	return limit/most + 1
}

func (l *layout) free(x uint64) int64 {
	return int64(x << (64 - fieldBits) >> ((64 - fieldBits + l.freeShift) & 63))
}

func (l *layout) share(x uint64) int64 {
	return int64(x >> (l.stampBits & 63) & (1<<(l.shareBits&63) - 1))
}

func (l *layout) used(x uint64) int64 { return l.share(x)*l.unit - l.free(x) }

// age returns how long before now the word's stamp is; it is negative for a stamp after now. It holds for words of
// the window's era only (see windowupkeep.go).
func (l *layout) age(x uint64, now time.Duration) time.Duration {
	return time.Duration(int64((uint64(now)-x<<(l.tick&63))<<(l.wrap&63)) >> (l.wrap & 63))
}

// ticks returns a time as a stamp, rounded up: against the caller.
func (l *layout) ticks(t time.Duration) uint64 {
	return uint64((int64(t)+1<<(l.tick&63)-1)>>(l.tick&63)) & (1<<(l.stampBits&63) - 1)
}

// word makes a word.
func (l *layout) word(lap uint64, used, share int64, stamp time.Duration) uint64 {
	return lap&lapMask<<lapShift | uint64(share*l.unit-used)<<l.freeShift | uint64(share)<<l.stampBits | l.ticks(stamp)
}

// join returns the word with n more admissions, the latest at now, which is age after the word's stamp.
func (l *layout) join(x uint64, n int64, now, age time.Duration) uint64 {
	if age > 0 {
		x = x>>(l.stampBits&63)<<(l.stampBits&63) | l.ticks(now)
	}
	return x - uint64(n)<<(l.freeShift&63)
}

// resize returns the word with units more of share, all of them free.
func (l *layout) resize(x uint64, units int64) uint64 {
	return x + uint64(units)<<l.stampBits + uint64(units*l.unit)<<l.freeShift
}

// units returns how many units n calls take.
func (l *layout) units(n int64) int64 {
	if l.unit == 1 {
		return n
	}
	return (n + l.unit - 1) / l.unit
}

// maxShare is the largest share that a word can hold.
func (l *layout) maxShare() int64 { return 1<<l.shareBits - 1 }
