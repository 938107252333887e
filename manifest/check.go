package manifest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checker compares a generic object with the Go type that it shall become. It finds what strict decoding
// would refuse, but all of it, and with the whole path.
type checker struct {
	object *object
	errs   []*Error
}

// check finds unknown fields and wrong types, in the order of the file.
func (o *object) check(into any) []*Error {
	c := checker{object: o}
	c.value(nil, o.value, reflect.TypeOf(into).Elem())
	slices.SortStableFunc(c.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Field, b.Field))
	})
	return c.errs
}

// maxChecked is how many errors of one object are gathered, to be sorted and cut to maxErrors.
const maxChecked = 10 * maxErrors

func (c *checker) errorf(path *field.Path, want, format string, args ...any) {
	if len(c.errs) == maxChecked {
		return
	}
	c.errs = append(c.errs, c.object.errorf(path.String(), want, format, args...))
}

func (c *checker) value(path *field.Path, v any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v == nil {
		return // null is the zero value everywhere
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		c.special(path, v, t)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		c.structure(path, v, t)
	case reflect.Map:
		if m, ok := v.(map[string]any); ok {
			for key, item := range m {
				c.value(keyPath(path, key), item, t.Elem())
			}
			return
		}
		c.wrongType(path, v, "a mapping")
	case reflect.Slice:
		c.slice(path, v, t)
	default:
		c.scalar(path, v, t)
	}
}

func (c *checker) structure(path *field.Path, v any, t reflect.Type) {
	m, ok := v.(map[string]any)
	if !ok {
		c.wrongType(path, v, "a mapping")
		return
	}
	known := jsonFields(t)
	for key, item := range m {
		if fieldType, ok := known[key]; ok {
			c.value(childPath(path, key), item, fieldType)
			continue
		}
		want := ""
		if near := nearest(key, sortedKeys(known)); near != "" {
			want = "did you mean " + near + "?"
		} else if len(known) <= 12 {
			want = "known here: " + strings.Join(sortedKeys(known), ", ")
		}
		c.errorf(childPath(path, key), want, "unknown field")
	}
}

func (c *checker) slice(path *field.Path, v any, t reflect.Type) {
	if t.Elem().Kind() == reflect.Uint8 {
		text, ok := v.(string)
		if !ok {
			c.wrongType(path, v, "base64 text")
		} else if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			want := "base64"
			if c.object.kind == "Secret" {
				want = "base64, or the plain text below stringData"
			}
			c.errorf(path, want, "not base64")
		}
		return
	}
	items, ok := v.([]any)
	if !ok {
		c.wrongType(path, v, "a list")
		return
	}
	for i, item := range items {
		c.value(indexPath(path, i), item, t.Elem())
	}
}

func (c *checker) scalar(path *field.Path, v any, t reflect.Type) {
	switch t.Kind() {
	case reflect.String:
		if _, ok := v.(string); !ok {
			c.wrongType(path, v, c.quoted(v))
		}
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			c.wrongType(path, v, "true or false")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		number, ok := v.(json.Number)
		if !ok {
			c.wrongType(path, v, "a whole number")
		} else if _, err := strconv.ParseInt(number.String(), 10, t.Bits()); err != nil {
			c.wrongType(path, v, fmt.Sprintf("a whole number of %d bits", t.Bits()))
		}
	}
}

// quoted is what to write in place of a number or boolean where a string belongs.
func (c *checker) quoted(v any) string {
	if c.object.kind == "Secret" {
		return "a string, in quotes"
	}
	switch v.(type) {
	case bool:
		return "a string: put the value in quotes"
	case json.Number:
		return fmt.Sprintf("a string: %q, in quotes", v)
	default:
		return "a string"
	}
}

func (c *checker) wrongType(path *field.Path, v any, want string) {
	got := describe(v)
	if c.object.kind == "Secret" {
		got, _, _ = strings.Cut(got, " (") // a secret is shown to nobody
	}
	c.errorf(path, want, "is %s", got)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// specialTypes says what to write for the types that read their own JSON.
var specialTypes = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():  `a quantity, such as 500m, 2, 128Mi or 1Gi`,
	reflect.TypeFor[intstr.IntOrString](): `a number or a name`,
	reflect.TypeFor[metav1.Time]():        `a time, such as 2026-01-31T12:00:00Z`,
	reflect.TypeFor[metav1.MicroTime]():   `a time, such as 2026-01-31T12:00:00.000000Z`,
}

func (c *checker) special(path *field.Path, v any, t reflect.Type) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, reflect.New(t).Interface())
	}
	if err == nil {
		return
	}
	if text, ok := v.(string); ok {
		c.errorf(path, specialTypes[t], "%q cannot be read", text)
		return
	}
	c.wrongType(path, v, specialTypes[t])
}

// jsonFields are the fields of a struct by their JSON names, those of inlined structs among them.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for f := range fields(t) {
		if f.inline {
			for name, inner := range jsonFields(f.Type) {
				known[name] = inner
			}
		} else if f.json != "" {
			known[f.json] = f.Type
		}
	}
	return known
}

func keyPath(path *field.Path, key string) *field.Path {
	if path == nil {
		return field.NewPath(key)
	}
	return path.Key(key)
}

func sortedKeys[M ~map[K]V, K ~string, V any](m M) []K {
	return slices.Sorted(maps.Keys(m))
}
