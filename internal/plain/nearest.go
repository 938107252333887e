package plain

import (
	"slices"
	"strings"
)

// Nearest is the known name that a misspelt one most likely means, empty if none is near. Names that
// differ in case only are nearest of all.
func Nearest(name string, known []string) string {
	if names := NearestNames(name, known, 1); len(names) > 0 {
		return names[0]
	}
	return ""
}

// NearestNames are up to so many of them, the nearest first.
func NearestNames(name string, known []string, most int) []string {
	type near struct {
		name     string
		distance int
	}
	var all []near
	for _, k := range known[:min(len(known), maxKnown)] {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d <= max(2, len(name)/3) && 2*d <= len(name) {
			all = append(all, near{k, d})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.distance - b.distance })
	var names []string
	for _, n := range all[:min(len(all), most)] {
		names = append(names, n.name)
	}
	return names
}

// What bounds the work of comparing names; no type of the API comes near either.
const (
	maxKnown      = 500
	maxNameLength = 80
)

// distance is the Levenshtein distance: how many letters to insert, delete or replace.
func distance(a, b string) int {
	if max(len(a), len(b)) > maxNameLength {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
