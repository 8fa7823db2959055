package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// coveredFaults are the numbers, inclusive from and to, of reported faults of other libraries of which cordon has tests.
var coveredFaults = [][2]int{
	{1, 6}, {8, 11}, {13, 15}, {17, 21}, {24, 29}, {31, 33}, {35, 42}, {44, 45}, {47, 48}, {50, 52}, {54, 57}, {59, 59}, {61, 64}, {66, 66}, {68, 70},
	{73, 73}, {75, 79}, {86, 100},
}

// citation is how a test says which faults it is about: the word and one number or several.
var citation = regexp.MustCompile(`(?i)\bfaults? #\d+(?:(?:,| and|, and)\s+(?:// )?#\d+)*`)

// number is one number in a citation.
var number = regexp.MustCompile(`#(\d+)`)

// cited returns the numbers that a test's source cites.
func cited(source string) []int {
	var numbers []int
	for _, c := range citation.FindAllString(source, -1) {
		for _, n := range number.FindAllStringSubmatch(c, -1) {
			if i, err := strconv.Atoi(n[1]); err == nil {
				numbers = append(numbers, i)
			}
		}
	}
	return numbers
}

// uncited returns the covered faults that none of the numbers is.
func uncited(numbers []int) []int {
	var missing []int
	for _, span := range coveredFaults {
		for n := span[0]; n <= span[1]; n++ {
			if !slices.Contains(numbers, n) {
				missing = append(missing, n)
			}
		}
	}
	return missing
}

// Every reported fault that cordon claims to be free of has a test that says so. This file does not count.
func TestFaultsAreCited(t *testing.T) {
	this, err := filepath.Abs("faults_test.go")
	require.NoError(t, err)
	var numbers []int
	require.NoError(t, walk(func(name string) error {
		full, err := filepath.Abs(name)
		if err != nil || !strings.HasSuffix(name, "_test.go") || full == this {
			return err
		}
		source, err := os.ReadFile(name)
		numbers = append(numbers, cited(string(source))...)
		return err
	}))
	require.Empty(t, uncited(numbers), "no test cites these faults")
}

func TestCitationLawCatches(t *testing.T) {
	require.Equal(t, []int{62, 63, 76, 9, 10, 11}, cited("// faults #62, #63: all.\nfunc f() // (faults #76) see #5\n// fault #9, #10 and #11, 12"))
	require.Equal(t, []int{1, 2}, cited("// faults #1,\n// #2"))
	require.Empty(t, cited("issue #4, defaults #3, faults 5"))
	var all []int
	for n := range 101 {
		if n != 29 {
			all = append(all, n)
		}
	}
	require.Equal(t, []int{29}, uncited(all))
	require.Len(t, uncited(nil), 76)
}
