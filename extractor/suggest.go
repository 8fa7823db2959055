package extractor

import (
	"slices"
	"strings"
)

// closest returns the one of the names that was most likely meant, "" if none is near.
func closest(name string, names []string) string {
	best, least := "", 3
	for _, candidate := range names {
		if strings.EqualFold(name, candidate) {
			return candidate
		}
		if d := distance(name, candidate, least); d < least && d < (len(candidate)+1)/2 {
			best, least = candidate, d
		}
	}
	return best
}

// distance is how many letters must be put in, left out, changed or swapped with the next to make b of a; at least bound if it is not less.
func distance(a, b string, bound int) int {
	if d := len(a) - len(b); d >= bound || -d >= bound {
		return bound
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		if slices.Min(row) >= bound {
			return bound
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
