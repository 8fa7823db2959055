package paramflow

import (
	"math/bits"

	"github.com/cordon-go/cordon/extractor"
)

// A named value has an override of its own. Its past is kept with it, guarded by the lock of the stripe that its hash falls into.
type named struct {
	allowance
	value extractor.Value
	hash  uint64
	at    int64 // until when its past counts, in ticks
}

// A roll finds named values by their hash. What it holds is laid out when the rule is loaded, at most half full.
type roll struct {
	slots  []slot // open addressing, a power of two
	values []named
}

// A slot points to a value, whose hash begins with tag.
type slot struct{ tag, index uint32 } // index counts from 1

func newRoll(values []named) roll {
	r := roll{values: values}
	if len(values) == 0 {
		return r
	}
	r.slots = make([]slot, 1<<bits.Len(uint(len(values)*2-1)))
	for i, v := range values {
		at := r.start(v.hash)
		for r.slots[at].index != 0 {
			at = (at + 1) & (len(r.slots) - 1)
		}
		r.slots[at] = slot{uint32(v.hash >> 32), uint32(i + 1)}
	}
	return r
}

func (r *roll) start(hash uint64) int { return int(uint32(hash)) & (len(r.slots) - 1) }

// find returns which of the named values it is, -1 if it is none.
func (r *roll) find(v extractor.Value, hash uint64) int {
	if len(r.slots) == 0 {
		return -1
	}
	for at := r.start(hash); ; at = (at + 1) & (len(r.slots) - 1) {
		s := r.slots[at]
		if s.index == 0 {
			return -1
		}
		if s.tag == uint32(hash>>32) {
			if n := &r.values[s.index-1]; n.hash == hash && n.value == v {
				return int(s.index) - 1
			}
		}
	}
}
