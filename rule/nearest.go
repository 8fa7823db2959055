package rule

import "strings"

// nearest returns the name that was most likely meant by a word that is none of them, "" if none is near: the same but for
// case, dashes and underscores, or at most a third of its letters off.
func nearest(word string, names []string) string {
	const longest = 64 // nobody's typo, and the comparison takes time by the square
	if len(word) > longest {
		return ""
	}
	word = folded(word)
	best, least := "", max(1, len(word)/3)+1
	for _, name := range names {
		if d := distance(word, folded(name)); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}

// folded drops what people vary in names: case, dashes, underscores.
func folded(s string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(s))
}

// distance counts the letters to insert, drop, replace or swap with their neighbour to make b of a (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
