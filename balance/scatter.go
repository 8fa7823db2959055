package balance

import (
	"math/bits"
	"slices"
)

// scatter sorts keys that lie about evenly between 0 and 2^64, in time linear in their number. It returns for each of 2^n equal parts
// of that range where its keys begin in the sorted list, by how many bits a key is to be shifted to give its part, and the list.
func scatter(keys []uint64) (first []uint32, shift uint, sorted []uint64) {
	width := max(bits.Len(uint(len(keys))), 1)
	shift = uint(64 - width)
	first = make([]uint32, 1<<width+1)
	for _, k := range keys {
		first[k>>shift+1]++
	}
	for i := 1; i < len(first); i++ {
		first[i] += first[i-1]
	}
	sorted = make([]uint64, len(keys))
	next := slices.Clone(first)
	for _, k := range keys {
		sorted[next[k>>shift]] = k
		next[k>>shift]++
	}
	for i := range first[1:] {
		slices.Sort(sorted[first[i]:first[i+1]])
	}
	return first, shift, sorted
}
