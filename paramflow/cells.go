package paramflow

import "math/bits"

// A line is as much as the processor fetches at once: cells of single values, and shared ones. A cell holds until when past calls count, in ticks.
type line struct {
	own    [ownCells]int64
	shared [sharedCells]int64
	tag    [ownCells]uint32 // whose cell it is
}

const (
	ownCells    = 4
	sharedCells = 2
	lineBytes   = 64
	// defaultLines are 512 KiB.
	defaultLines = 8192
	// minLines and maxStripes bound what a rule can be given.
	minLines   = 64
	minStripes = 16
	maxStripes = 4096
	// maxMoves is how many values are moved at most to make room for another.
	maxMoves = 2
	// maxRest bounds what the search for that costs where there is no room at all.
	maxRest = 7
	// stripeLines is how many lines a stripe has, so that values spread evenly enough over stripes, and callers over locks.
	stripeLines = 64
	// fullAt is the pressure up to which next to no value has to share.
	fullAt = 0.7
)

// linesFor returns how many lines a rule has for so many values in use, a power of two.
func linesFor(values int) int {
	if values == 0 {
		return defaultLines
	}
	lines := int(float64(values)/fullAt/ownCells) + 1
	return max(minLines, 1<<bits.Len(uint(lines-1)))
}

// Cells are the memory of the pasts of a stripe's values. A value is known by its tag, the low half of its hash, of which the upper half chose the stripe: two values with
// the same of both, one pair in some 10^11, are limited as one.
//
// A value's cell is in one of two lines. A cell whose time has come is as good as empty and is given to the next value that comes. What it held is not forgotten
// altogether, as a caller whose reading is older may still come: floor is the latest time that was given up so.
type cells struct {
	lines []line // a power of two
	// classes says in the measure of which class's allowance each cell counts; nil if there is but one.
	classes []uint16
	floor   int64
	rest    int // how many values go without a search for room after one that found none
}

// homes returns the two lines of a tag. They differ in any power of two of lines.
func homes(tag uint32, lines int) (a, b uint32) {
	mask := uint32(lines - 1)
	other := tag ^ (tag*0x9E3779B1>>15 | 1)
	return tag & mask, other & mask
}

// find returns where a value's own cell is, -1 if it has none.
func (c *cells) find(tag uint32) int {
	a, b := homes(tag, len(c.lines))
	l := &c.lines[a]
	for i := range ownCells {
		if l.tag[i] == tag {
			return int(a)*ownCells + i
		}
	}
	l = &c.lines[b]
	for i := range ownCells {
		if l.tag[i] == tag {
			return int(b)*ownCells + i
		}
	}
	return -1
}

func (c *cells) own(cell int) *int64 { return &c.lines[cell/ownCells].own[cell%ownCells] }

// sharing returns the shared cells of a value.
func (c *cells) sharing(tag uint32) (x, y *int64) {
	a, b := homes(tag, len(c.lines))
	return &c.lines[a].shared[tag>>31], &c.lines[b].shared[tag>>30&1]
}

// until returns until when a value's past counts, and where its own cell is, -1 if it has none: then the value may be one of many.
func (c *cells) until(tag uint32) (at int64, cell int) {
	if cell = c.find(tag); cell >= 0 {
		return *c.own(cell), cell
	}
	x, y := c.sharing(tag)
	return max(min(*x, *y), c.floor), -1
}

// set makes a value's past count until at, in the measure of the class. cell is where its own cell is, or -1: then it is given one if one of its lines has one to give at t, and else
// shares. It returns where the own cell is then. It never makes the past of another value count less.
func (c *cells) set(tag uint32, cell int, at, t int64, class uint16) int {
	if cell < 0 {
		if cell = c.claim(tag, t); cell < 0 {
			x, y := c.sharing(tag)
			*x, *y = max(*x, at), max(*y, at)
			return -1
		}
	}
	*c.own(cell) = at
	if c.classes != nil {
		c.classes[cell] = class
	}
	return cell
}

// claim gives a value a cell that nothing is in at t, in the line that has more of them, so that lines fill evenly. If neither has any, a neighbour that can is moved to its other line.
func (c *cells) claim(tag uint32, t int64) int {
	a, b := homes(tag, len(c.lines))
	cell, free := c.lines[a].spare(t)
	line := a
	if free < ownCells {
		if other, more := c.lines[b].spare(t); more > free {
			cell, free, line = other, more, b
		}
	}
	if free == 0 {
		if line, cell = c.makeRoom(a, b, t); cell < 0 {
			return -1
		}
	}
	l := &c.lines[line]
	c.floor = max(c.floor, l.own[cell])
	l.tag[cell], l.own[cell] = tag, 0
	return int(line)*ownCells + cell
}

// makeRoom empties a cell of one of two full lines, in as few moves as possible. It returns -1 for the cell if that takes too many.
func (c *cells) makeRoom(a, b uint32, t int64) (line uint32, cell int) {
	if c.rest > 0 {
		c.rest--
		return 0, -1
	}
	for moves := 1; moves <= maxMoves; moves++ {
		for _, line := range [2]uint32{a, b} {
			if cell := c.vacate(line, t, moves); cell >= 0 {
				return line, cell
			}
		}
	}
	c.rest = maxRest
	return 0, -1
}

// vacate moves a value of a full line to its other line, if need be after a value of that has been moved in the same way, in so many moves at most. It returns which cell is free then, -1 if none is.
func (c *cells) vacate(line uint32, t int64, moves int) int {
	l := &c.lines[line]
	for i := range ownCells {
		x, y := homes(l.tag[i], len(c.lines))
		other := x ^ y ^ line
		to, free := c.lines[other].spare(t)
		if free == 0 && moves > 1 {
			if to = c.vacate(other, t, moves-1); to >= 0 {
				free = 1
			}
		}
		if free == 0 {
			continue
		}
		o := &c.lines[other]
		c.floor = max(c.floor, o.own[to])
		o.own[to], o.tag[to] = l.own[i], l.tag[i]
		l.own[i] = 0
		if c.classes != nil {
			c.classes[int(other)*ownCells+to] = c.classes[int(line)*ownCells+i]
		}
		return i
	}
	return -1
}

// spare returns the first cell that nothing is in at t, and how many such there are.
func (l *line) spare(t int64) (first, free int) {
	for i := ownCells - 1; i >= 0; i-- {
		if l.own[i] <= t {
			first = i
			free++
		}
	}
	return first, free
}

// resize returns the cells with another number of lines and room for classes or not, with all that counts at t.
func (c *cells) resize(lines []line, t int64, classes bool) cells {
	n := cells{lines: lines, floor: c.floor}
	if classes {
		n.classes = make([]uint16, len(lines)*ownCells)
	}
	// What shares a line shares one, or one of several, of another number of lines as well: both are told by low bits of the tag.
	for i := range max(len(c.lines), len(lines)) {
		if len(c.lines) == 0 {
			break
		}
		to, from := &lines[i&(len(lines)-1)], &c.lines[i&(len(c.lines)-1)]
		for j := range sharedCells {
			to.shared[j] = max(to.shared[j], from.shared[j])
		}
	}
	for i := range c.lines {
		for j, at := range c.lines[i].own {
			if at <= t {
				n.floor = max(n.floor, at)
				continue
			}
			var class uint16
			if c.classes != nil {
				class = c.classes[i*ownCells+j]
			}
			n.set(c.lines[i].tag[j], -1, at, t, class)
		}
	}
	return n
}

// usage counts the cells of n lines from the first on that something is in at t: own ones and shared ones.
func (c *cells) usage(first, n int, t int64) (own, shared int) {
	for i := range n {
		l := &c.lines[(first+i)&(len(c.lines)-1)]
		for _, at := range l.own {
			if at > t {
				own++
			}
		}
		for _, at := range l.shared {
			if at > t {
				shared++
			}
		}
	}
	return own, shared
}
