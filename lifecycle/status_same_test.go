package lifecycle

import (
	"reflect"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A status is the same if the API can't tell the difference, and else another one.
func TestSameStatus(t *testing.T) {
	status := func(change func(*v1.PodStatus)) *v1.PodStatus {
		s := &v1.PodStatus{
			Phase: v1.PodRunning, StartTime: &metav1.Time{Time: time.Unix(1000, 0)},
			Conditions:        []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}},
			ContainerStatuses: []v1.ContainerStatus{{Name: "main", AllocatedResources: v1.ResourceList{"cpu": resource.MustParse("1")}, Started: new(true)}},
		}
		change(s)
		return s
	}
	for name, c := range map[string]struct {
		change func(*v1.PodStatus)
		same   bool
	}{
		"nothing":               {func(*v1.PodStatus) {}, true},
		"an empty list":         {func(s *v1.PodStatus) { s.InitContainerStatuses = []v1.ContainerStatus{} }, true},
		"the form of an amount": {func(s *v1.PodStatus) { s.ContainerStatuses[0].AllocatedResources["cpu"] = resource.MustParse("1000m") }, true},
		"another amount":        {func(s *v1.PodStatus) { s.ContainerStatuses[0].AllocatedResources["cpu"] = resource.MustParse("2") }, false},
		"not started":           {func(s *v1.PodStatus) { s.ContainerStatuses[0].Started = new(false) }, false},
		"started is not known":  {func(s *v1.PodStatus) { s.ContainerStatuses[0].Started = nil }, false},
		"a second later":        {func(s *v1.PodStatus) { s.StartTime = &metav1.Time{Time: time.Unix(1001, 0)} }, false},
		"a condition":           {func(s *v1.PodStatus) { s.Conditions[0].Message = "because" }, false},
	} {
		got := sameStatus(status(func(*v1.PodStatus) {}), status(c.change))
		assert.True(t, got == c.same, "%s: same %t, want %t", name, got, c.same)
	}
}

// TestSameStatusHasAllFields changes one thing after the other in a status that has
// everything: each change makes another status of it. So a field that the API gets later
// is not forgotten.
func TestSameStatusHasAllFields(t *testing.T) {
	full := &v1.PodStatus{}
	populate(reflect.ValueOf(full).Elem())
	assert.Require(t, sameStatus(full, full.DeepCopy()), "a copy is another status")
	changed, n := full.DeepCopy(), 0
	eachChange(reflect.ValueOf(changed).Elem(), "status", func(path string) {
		n++
		assert.True(t, !sameStatus(full, changed) && !sameStatus(changed, full), "%s: the same after a change", path)
	})
	assert.True(t, n >= 200, "%d changes are too few", n)
}

// populate gives everything below a value something.
func populate(v reflect.Value) {
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(1000, 0)))
		return
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("3")))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			populate(field)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		populate(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		populate(v.Index(0))
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		populate(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("cpu").Convert(v.Type().Key()), value)
	default:
		alter(v)
	}
}

// alter gives a plain value another one.
func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	default:
		panic("no other value of " + v.Type().String())
	}
}

// eachChange makes one change after the other below a value, and takes each back.
func eachChange(v reflect.Value, path string, changed func(path string)) {
	with := func(other reflect.Value, path string) {
		was := reflect.ValueOf(v.Interface())
		v.Set(other)
		changed(path)
		v.Set(was)
	}
	switch was := v.Interface().(type) {
	case metav1.Time:
		with(reflect.ValueOf(metav1.Time{Time: was.Add(time.Second)}), path)
		return
	case resource.Quantity:
		with(reflect.ValueOf(resource.MustParse("4")), path)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			eachChange(v.Field(i), path+"."+v.Type().Field(i).Name, changed)
		}
	case reflect.Pointer:
		with(reflect.Zero(v.Type()), path+" is nil")
		eachChange(v.Elem(), path, changed)
	case reflect.Slice:
		with(reflect.Append(v, reflect.Zero(v.Type().Elem())), path+" is longer")
		with(reflect.Zero(v.Type()), path+" is empty")
		eachChange(v.Index(0), path+"[0]", changed)
	case reflect.Map:
		with(reflect.Zero(v.Type()), path+" is empty")
		for _, key := range v.MapKeys() {
			other := reflect.MakeMap(v.Type())
			other.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
			with(other, path+" has another amount")
			renamed := reflect.MakeMap(v.Type())
			renamed.SetMapIndex(reflect.ValueOf("memory").Convert(key.Type()), v.MapIndex(key))
			with(renamed, path+" has another name")
		}
	default:
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		alter(v)
		changed(path)
		v.Set(was)
	}
}

// Each part of a container's status that may change while it runs makes news of it (A-STAT-11).
func TestSameInstance(t *testing.T) {
	one := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	for name, change := range map[string]func(*v1.ContainerStatus){
		"ready":              func(c *v1.ContainerStatus) { c.Ready = true },
		"restarts":           func(c *v1.ContainerStatus) { c.RestartCount++ },
		"resources":          func(c *v1.ContainerStatus) { c.Resources = &v1.ResourceRequirements{Requests: one} },
		"allocated":          func(c *v1.ContainerStatus) { c.AllocatedResources = one },
		"state of resources": func(c *v1.ContainerStatus) { c.AllocatedResourcesStatus = []v1.ResourceStatus{{Name: "gpu"}} },
	} {
		before, now := v1.ContainerStatus{}, v1.ContainerStatus{}
		assert.Require(t, sameInstance(&before, &now), "nothing has changed")
		change(&now)
		assert.True(t, !sameInstance(&before, &now), "%s: no news", name)
	}
}
