package paramflow

import "github.com/cordon-go/cordon/extractor"

const (
	// ranked is how many values a stripe counts: 1024 altogether with the default memory.
	ranked = 8
	// fading is how long it takes until calls weigh half.
	fading = 10 * 1000 * 1000 * 1000 << tickBits
	// knownAfter is after how many calls a value that took another's place is remembered by its name. Most never come again, and what is remembered must be copied.
	knownAfter = 4
)

// Ranks find the values that call most (SpaceSaving): a value that is counted counts up; one that is not takes the place of the least, with whose weight it begins, as it may have
// made as many calls unseen. It does so only once in as many times as that weight, so that a scan over values that come once does not sweep out those that come again (randomised admission). Weights
// fade, so that those come first that are hot now.
type ranks struct {
	hash    [ranked]uint64
	weight  [ranked]uint32
	missed  [ranked]uint32 // the weight that was begun with
	passed  [ranked]int64
	refused [ranked]int64
	limit   [ranked]float64
	value   [ranked]extractor.Value
	known   [ranked]bool
	fade    int64  // when weights fade next, in ticks
	dice    uint64 // of xorshift
}

// count counts a call.
func (r *ranks) count(v extractor.Value, hash uint64, t int64, limit float64, passed, redact bool) {
	r.fadeTo(t)
	i := r.find(hash)
	if i < 0 {
		if i = r.admit(hash); i < 0 {
			return
		}
	} else if r.weight[i] != 1<<32-1 {
		r.weight[i]++
	}
	if passed {
		r.passed[i]++
	} else {
		r.refused[i]++
	}
	r.limit[i] = limit
	if !r.known[i] && (r.missed[i] == 0 || r.passed[i]+r.refused[i] >= knownAfter) {
		r.known[i] = true
		if !redact {
			r.value[i] = v.Clone()
		}
	}
}

// uncount takes a call that passed back.
func (r *ranks) uncount(hash uint64) {
	if i := r.find(hash); i >= 0 && r.passed[i] > 0 {
		r.passed[i]--
	}
}

func (r *ranks) find(hash uint64) int {
	for i, h := range r.hash {
		if h == hash && r.weight[i] > 0 {
			return i
		}
	}
	return -1
}

// admit gives a value that is not counted a place, or -1.
func (r *ranks) admit(hash uint64) int {
	least := 0
	for i, w := range r.weight {
		if w < r.weight[least] {
			least = i
		}
	}
	w := r.weight[least]
	if w > 0 {
		r.dice ^= r.dice << 13
		r.dice ^= r.dice >> 7
		r.dice ^= r.dice << 17
		if r.dice>>32*(uint64(w)+1)>>32 != 0 {
			return -1
		}
	}
	r.hash[least], r.weight[least], r.missed[least] = hash, min(w, 1<<32-2)+1, w
	r.passed[least], r.refused[least] = 0, 0
	r.value[least], r.known[least] = extractor.Value{}, false
	return least
}

// fadeTo lets the weights fade up to t.
func (r *ranks) fadeTo(t int64) {
	if t >= r.fade || r.fade-t > 2*fading {
		r.decay(t)
	}
}

// decay halves the weights for each time that has passed.
func (r *ranks) decay(t int64) {
	halvings := uint64(1)
	if late := t - r.fade; late > 0 {
		halvings += uint64(late / fading)
	}
	if r.fade == 0 {
		halvings = 0
	}
	r.fade = t + fading
	for i := range r.weight {
		r.weight[i] >>= min(halvings, 32)
	}
}
