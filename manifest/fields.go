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
		for field := range t.Fields() {
			f := structField{StructField: field}
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
