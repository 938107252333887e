package manifest

import (
	"iter"
	"reflect"
	"slices"
	"strings"
)

// structField is a field of an API type and the name that it has in a manifest.
type structField struct {
	reflect.StructField
	json   string
	inline bool
}

// fields are the fields of a struct type, in the order of its declaration.
func fields(t reflect.Type) iter.Seq[structField] {
	return func(yield func(structField) bool) {
		for i := range t.NumField() {
			f := structField{StructField: t.Field(i)}
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			f.json = name
			f.inline = name == "" && (f.Anonymous || strings.Contains(options, "inline"))
			if name != "-" && !yield(f) {
				return
			}
		}
	}
}

// jsonFields are the fields of a struct type by their names in a manifest, those of inlined structs among
// them; Index leads from the struct itself.
func jsonFields(t reflect.Type) map[string]structField {
	known := map[string]structField{}
	for f := range fields(t) {
		if !f.inline {
			known[f.json] = f
			continue
		}
		for name, inner := range jsonFields(f.Type) {
			inner.Index = slices.Concat(f.Index, inner.Index)
			known[name] = inner
		}
	}
	return known
}

// nearest is the known name that a misspelt one most likely means, empty if none is near. Names that
// differ in case only are nearest of all.
func nearest(name string, known []string) string {
	best, bestDistance := "", max(2, len(name)/3)+1
	for _, k := range known[:min(len(known), maxKnown)] {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
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
