package manifest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/yamlsyntax"
)

// decoder makes a Go value of a generic one. It is stricter than the decoders of Kubernetes, which tell one
// error at a time, and many of them without the whole path; and it needs no table of the whole API to
// start with, which takes those a few milliseconds. FuzzRead proves that what it accepts comes out the same.
type decoder struct {
	object *object
	// complete says that fields whose tags have no options, such as omitempty, must be there.
	complete bool
	known    map[reflect.Type]map[string]structField
	errs     []*Error
}

// decode reads the object into its Go type. It finds all unknown fields and wrong types.
func (o *object) decode(into any) []*Error { return o.decodeWith(decoder{}, into) }

// decodeOwn does so for a kind of our own, of which it finds all missing fields as well.
func (o *object) decodeOwn(into any) []*Error { return o.decodeWith(decoder{complete: true}, into) }

func (o *object) decodeWith(d decoder, into any) []*Error {
	d.object, d.known = o, map[reflect.Type]map[string]structField{}
	d.value(nil, o.value, reflect.ValueOf(into).Elem())
	slices.SortStableFunc(d.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Field, b.Field))
	})
	return d.errs
}

// unknownField is the problem of a field that is not in the API.
const unknownField = "unknown field"

// maxDecodeErrors is how many errors of one object are gathered, to be sorted and cut to maxErrors.
const maxDecodeErrors = 10 * maxErrors

func (d *decoder) errorf(path *field.Path, want, format string, args ...any) {
	if len(d.errs) < maxDecodeErrors {
		d.errs = append(d.errs, d.object.errorf(path.String(), want, format, args...))
	}
}

// value sets into, which is zero, to v. What cannot be set is an error.
func (d *decoder) value(path *field.Path, v any, into reflect.Value) {
	if v == nil {
		return // null is the zero value everywhere
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	if special, ok := reflect.TypeAssert[json.Unmarshaler](into.Addr()); ok {
		d.special(path, v, special)
		return
	}
	switch into.Kind() {
	case reflect.Struct:
		d.structure(path, v, into)
	case reflect.Map:
		d.mapping(path, v, into)
	case reflect.Slice:
		if into.Type().Elem().Kind() == reflect.Uint8 {
			d.bytes(path, v, into)
		} else {
			d.list(path, v, into)
		}
	default:
		d.scalar(path, v, into)
	}
}

func (d *decoder) structure(path *field.Path, v any, into reflect.Value) {
	m, ok := v.(map[string]any)
	if !ok {
		d.wrongType(path, v, "a mapping")
		return
	}
	known, ok := d.known[into.Type()]
	if !ok {
		known = jsonFields(into.Type())
		d.known[into.Type()] = known
	}
	for key, item := range m {
		if f, ok := known[key]; ok {
			d.value(childPath(path, key), item, into.FieldByIndex(f.Index))
			continue
		}
		if len(d.errs) == maxDecodeErrors {
			return
		}
		want := yamlsyntax.Hint(key)
		if near := plain.Nearest(key, sortedKeys(known)); want == "" && near != "" {
			want = "did you mean " + near + "?"
		} else if want == "" && len(known) <= 12 {
			want = "fields here are " + strings.Join(sortedKeys(known), ", ")
		}
		d.errorf(childPath(path, key), want, unknownField)
	}
	if d.complete {
		d.missing(path, m, known)
	}
}

// missing finds the fields that a mapping does not have and must have.
func (d *decoder) missing(path *field.Path, m map[string]any, known map[string]structField) {
	for _, key := range sortedKeys(known) {
		if f := known[key]; m[key] == nil && !strings.Contains(f.Tag.Get("json"), ",") {
			d.errorf(childPath(path, key), wantOf(f.Type), "missing")
		}
	}
}

// wantOf says what to write for a type, if it is one of our own that says so.
func wantOf(t reflect.Type) string {
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	if own, is := reflect.TypeAssert[worded](reflect.Zero(t)); is {
		return "should be " + own.Want()
	}
	return ""
}

func (d *decoder) mapping(path *field.Path, v any, into reflect.Value) {
	m, ok := v.(map[string]any)
	if !ok {
		d.wrongType(path, v, "a mapping")
		return
	}
	t := into.Type()
	into.Set(reflect.MakeMapWithSize(t, len(m)))
	for key, item := range m {
		element := reflect.New(t.Elem()).Elem()
		d.value(path.Key(key), item, element)
		into.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), element)
	}
}

func (d *decoder) list(path *field.Path, v any, into reflect.Value) {
	items, ok := v.([]any)
	if !ok {
		d.wrongType(path, v, "a list")
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
	for i, item := range items {
		d.value(path.Index(i), item, into.Index(i))
	}
}

func (d *decoder) bytes(path *field.Path, v any, into reflect.Value) {
	text, ok := v.(string)
	if !ok {
		d.wrongType(path, v, "base64 text")
		return
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		want := "should be base64"
		if d.object.kind == "Secret" {
			want = "should be base64, or the plain text below stringData"
		}
		d.errorf(path, want, "not base64")
		return
	}
	into.SetBytes(content)
}

func (d *decoder) scalar(path *field.Path, v any, into reflect.Value) {
	switch into.Kind() {
	case reflect.String:
		if text, ok := v.(string); ok {
			into.SetString(text)
		} else {
			d.wrongType(path, v, d.quoted(path, v))
		}
	case reflect.Bool:
		if truth, ok := v.(bool); ok {
			into.SetBool(truth)
		} else {
			d.wrongType(path, v, "true or false")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if number, ok := v.(int64); ok && !into.OverflowInt(number) {
			into.SetInt(number)
		} else {
			d.wrongType(path, v, fmt.Sprintf("a whole number of %d bits", into.Type().Bits()))
		}
	default:
		d.errorf(path, "", "a %s cannot be read", into.Type())
	}
}

// quoted is what to write in place of a number or boolean where a string belongs.
func (d *decoder) quoted(path *field.Path, v any) string {
	switch v.(type) {
	case bool, int64, float64:
	default:
		return "a string"
	}
	text := d.object.document.textOf(d.object.prefix + path.String())
	if d.object.kind == "Secret" || text == "" {
		return "a string: put the value in quotes"
	}
	return fmt.Sprintf("a string: %q, in quotes", text)
}

func (d *decoder) wrongType(path *field.Path, v any, want string) {
	got := d.object.describe(path.String(), v)
	if d.object.kind == "Secret" {
		got, _, _ = strings.Cut(got, " (") // a secret is shown to nobody
	}
	want = "should be " + want
	if text, ok := v.(string); ok && yamlsyntax.Hint(text) != "" {
		want = yamlsyntax.Hint(text)
	}
	d.errorf(path, want, "is %s", got)
}

// specialTypes says what to write for the types that read their own JSON.
var specialTypes = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():  `a quantity, such as 500m, 2, 128Mi or 1Gi`,
	reflect.TypeFor[intstr.IntOrString](): `a number or a name`,
	reflect.TypeFor[metav1.Time]():        `a time, such as 2026-01-31T12:00:00Z`,
	reflect.TypeFor[metav1.MicroTime]():   `a time, such as 2026-01-31T12:00:00.000000Z`,
}

// worded is a type of our own that reads its own JSON, and says what to write. Want may be asked of nil.
type worded interface{ Want() string }

// reasoned is an error of such a type that says what is wrong with a text; empty: nothing more than that it can't be read.
type reasoned interface {
	error
	Reason() string
}

func (d *decoder) special(path *field.Path, v any, into json.Unmarshaler) {
	text, err := json.Marshal(v)
	if err == nil {
		err = into.UnmarshalJSON(text)
	}
	if err == nil {
		return
	}
	want := specialTypes[reflect.TypeOf(into).Elem()]
	if own, is := into.(worded); is {
		want = own.Want()
	}
	if text, ok := v.(string); ok {
		problem := fmt.Sprintf("%q cannot be read", text)
		if why, is := errors.AsType[reasoned](err); is && why.Reason() != "" {
			problem += ": " + why.Reason()
		}
		d.errorf(path, cmp.Or(yamlsyntax.Hint(text), "should be "+want), "%s", problem)
		return
	}
	d.wrongType(path, v, want)
}

func sortedKeys[M ~map[K]V, K ~string, V any](m M) []K {
	return slices.Sorted(maps.Keys(m))
}
