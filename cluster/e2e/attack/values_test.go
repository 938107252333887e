//go:build attack

package attack

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// canary is a file of root's that hostile values name; written is what they try to put there.
const (
	canary  = "/tmp/lifepod-canary"
	written = "written by a pod\n"
)

// texts are hostile values in the place of a text that was right.
func texts(right string) []string {
	return []string{
		"", "-o", "--root=/", "..", ".", "/", canary, "../../../../../../../../../../.." + canary, right + "/../../../../../../../.." + canary,
		right + "\x00" + canary + "\x00" + written, right + "\nroot::0:0::/:/bin/sh\n", "\xff\xfe" + right, "\x1b]0;x\x07\x1b[2J\u202e\r",
		"%s%n%00%2e%2e%2f" + right, strings.Repeat("A", 64<<10), "$(echo x>" + canary + ")`echo x>" + canary + "`;echo x>" + canary + "|",
		right + `,suid,dev:/=x"'\`, "-1", "0", "18446744073709551616", "|" + canary,
	}
}

// field is a place in an object that takes a value.
type field struct {
	path  string
	reach func(object reflect.Value) reflect.Value // makes what is above it
}

// skipped are written by the server, or have no text.
var skipped = []reflect.Type{
	reflect.TypeFor[metav1.TypeMeta](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.ManagedFieldsEntry](),
	reflect.TypeFor[v1.PodStatus](), reflect.TypeFor[v1.ServiceStatus](), reflect.TypeFor[v1.PersistentVolumeClaimStatus](),
	reflect.TypeFor[v1.EphemeralContainer](), reflect.TypeFor[bool](),
}

// unions have one field at a time.
var unions = []reflect.Type{
	reflect.TypeFor[v1.VolumeSource](), reflect.TypeFor[v1.VolumeProjection](), reflect.TypeFor[v1.ProbeHandler](),
	reflect.TypeFor[v1.LifecycleHandler](), reflect.TypeFor[v1.EnvVarSource](),
}

// fields are all of a type that take a text, a number, bytes or a map.
func fields(t reflect.Type, path string, reach func(reflect.Value) reflect.Value) (all []field) {
	switch {
	case slices.Contains(skipped, t):
		return nil
	case t == reflect.TypeFor[resource.Quantity](), t == reflect.TypeFor[intstr.IntOrString](), t == reflect.TypeFor[[]byte]():
		return []field{{path, reach}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return fields(t.Elem(), path, func(o reflect.Value) reflect.Value {
			p := reach(o)
			if p.IsNil() {
				p.Set(reflect.New(t.Elem()))
				p.Elem().Set(example(t.Elem()))
			}
			return p.Elem()
		})
	case reflect.Slice:
		return fields(t.Elem(), path+"[0]", func(o reflect.Value) reflect.Value {
			s := reach(o)
			if s.Len() == 0 {
				s.Set(reflect.Append(s, example(t.Elem())))
			}
			return s.Index(0)
		})
	case reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			all = append(all, fields(t.Field(i).Type, strings.TrimSuffix(path+"."+name, "."), func(o reflect.Value) reflect.Value {
				s := reach(o)
				if slices.Contains(unions, t) {
					kept := s.Field(i).Interface()
					s.SetZero()
					s.Field(i).Set(reflect.ValueOf(kept))
				}
				return s.Field(i)
			})...)
		}
		return all
	default:
		return []field{{path, reach}}
	}
}

// mutation sets a field to a hostile value.
type mutation struct {
	field
	value string
	set   func(place reflect.Value)
}

func (m mutation) String() string {
	if len(m.value) > 100 {
		return fmt.Sprintf("%s = %.40q… (%d bytes)", m.path, m.value, len(m.value))
	}
	return fmt.Sprintf("%s = %q", m.path, m.value)
}

// apply is a copy of the object with the value.
func (m mutation) apply(object runtime.Object) runtime.Object {
	changed := object.DeepCopyObject()
	m.set(m.reach(reflect.ValueOf(changed).Elem()))
	return changed
}

// mutations are all hostile values for all fields of an object.
func mutations(object runtime.Object) (all []mutation) {
	t := reflect.TypeOf(object).Elem()
	for _, f := range fields(t, strings.ToLower(t.Name()), func(o reflect.Value) reflect.Value { return o }) {
		place := f.reach(reflect.ValueOf(object.DeepCopyObject()).Elem())
		all = append(all, f.hostile(place)...)
	}
	return all
}

func (f field) hostile(place reflect.Value) (all []mutation) {
	add := func(value string, set func(reflect.Value)) { all = append(all, mutation{f, value, set}) }
	switch right := place.Interface().(type) {
	case resource.Quantity:
		for _, value := range []string{"-1", "0", "1n", "0.5", "9223372036854775807", "1e30"} {
			add(value, func(p reflect.Value) { p.Set(reflect.ValueOf(resource.MustParse(value))) })
		}
		return all
	case intstr.IntOrString:
		for _, value := range []int32{math.MinInt32, -1, 0, 65536, math.MaxInt32} {
			add(fmt.Sprint(value), func(p reflect.Value) { p.Set(reflect.ValueOf(intstr.FromInt32(value))) })
		}
		for _, value := range texts(right.StrVal) {
			add(value, func(p reflect.Value) { p.Set(reflect.ValueOf(intstr.FromString(value))) })
		}
		return all
	case []byte:
		for _, value := range texts("right") {
			add(value, func(p reflect.Value) { p.SetBytes([]byte(value)) })
		}
		return all
	}
	switch place.Kind() {
	case reflect.String:
		for _, value := range texts(place.String()) {
			add(value, func(p reflect.Value) { p.SetString(value) })
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		for _, value := range []int64{math.MinInt64, math.MinInt32, -1, 0, 1, 65536, math.MaxInt32, math.MaxInt64} {
			if !place.OverflowInt(value) {
				add(fmt.Sprint(value), func(p reflect.Value) { p.SetInt(value) })
			}
		}
	case reflect.Map:
		return f.hostileMap(place)
	default:
		panic(f.path + ": hostile values for " + place.Type().String())
	}
	return all
}

// hostileMap has hostile keys, and hostile values for a key that is right and, of annotations, for those that somebody reads.
func (f field) hostileMap(place reflect.Value) (all []mutation) {
	keys := []string{"right"}
	if strings.HasSuffix(f.path, ".annotations") {
		keys = append(keys, annotations...)
	}
	put := func(p reflect.Value, key string, value reflect.Value) {
		if p.IsNil() {
			p.Set(reflect.MakeMap(p.Type()))
		}
		p.SetMapIndex(reflect.ValueOf(key).Convert(p.Type().Key()), value)
	}
	for _, key := range texts("right") {
		all = append(all, mutation{f, key, func(p reflect.Value) { put(p, key, example(p.Type().Elem())) }})
	}
	for _, key := range keys {
		element := reflect.New(place.Type().Elem()).Elem()
		element.Set(example(element.Type()))
		for _, m := range (field{path: f.path + "[" + key + "]"}).hostile(element) {
			all = append(all, mutation{field{m.path, f.reach}, m.value, func(p reflect.Value) {
				value := reflect.New(p.Type().Elem()).Elem()
				m.set(value)
				put(p, key, value)
			}})
		}
	}
	return all
}
