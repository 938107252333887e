package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// verdict is what lifepod run does with a field.
type verdict int

const (
	isUsed      verdict = iota + 1
	isRefused           // an error that names the field
	isIgnored           // a warning that names the field
	isPointless         // nothing to say: leaving the field out would change nothing
)

// support is an entry of fieldSupport.
type support struct {
	verdict verdict
	reason  string
	except  []string // values that are fine all the same; the zero value always is
}

// The entries, most of them shared.
var (
	used        = support{verdict: isUsed}
	notYet      = refused("not supported yet by lifepod run")
	alphaOff    = refused("not supported by lifepod: an alpha feature, which is off in Kubernetes 1.37")
	noDriver    = refused("lifepod run has no storage drivers, a persistentVolumeClaim is a folder on this machine")
	noWindows   = refused("lifepod runs Linux containers")
	oneMachine  = ignored("there is one machine, nothing is scheduled")
	noAPIServer = ignored("there is no API server")
)

func refused(reason string) support   { return support{verdict: isRefused, reason: reason} }
func ignored(reason string) support   { return support{verdict: isIgnored, reason: reason} }
func pointless(reason string) support { return support{verdict: isPointless, reason: reason} }

// or gives an entry that lets these values pass.
func (s support) or(values ...string) support {
	s.except = values
	return s
}

// supportOf walks what the user wrote of a Pod along fieldSupport.
type supportOf struct {
	object  *object
	errs    []*Error
	ignored map[string][]string // paths by reason
	reasons []string            // of ignored, in the order of the first path
}

// checkSupport gives an error for each field that lifepod run doesn't support, and one warning for all
// that it ignores. It wants the Pod before defaulting: what is set then was set by the user.
func checkSupport(o *object, pod *v1.Pod) (errs, warnings []*Error) {
	s := &supportOf{object: o, ignored: map[string][]string{}}
	s.visit(field.NewPath("spec"), reflect.ValueOf(pod.Spec))
	return s.errs, s.warnings()
}

// warnings are one for all that is ignored.
func (s *supportOf) warnings() []*Error {
	if len(s.reasons) == 0 {
		return nil
	}
	var parts []string
	for _, reason := range s.reasons {
		parts = append(parts, fmt.Sprintf("%s (%s)", strings.Join(s.ignored[reason], ", "), reason))
	}
	return []*Error{s.object.warning("", "ignored: %s", strings.Join(parts, "; "))}
}

func (s *supportOf) visit(path *field.Path, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			s.visit(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.visit(path.Index(i), v.Index(i))
		}
	case reflect.Struct:
		if v.Type().PkgPath() == apiPackage {
			s.structure(path, v)
		}
	}
}

// apiPackage is where the types are whose fields are listed; those of other packages, such as
// quantities, are values.
var apiPackage = reflect.TypeFor[v1.Pod]().PkgPath()

func (s *supportOf) structure(path *field.Path, v reflect.Value) {
	for f := range fields(v.Type()) {
		value := v.FieldByIndex(f.Index)
		if value.IsZero() {
			continue
		}
		if f.inline {
			s.visit(path, value)
			continue
		}
		below := path.Child(f.json)
		if resources, ok := reflect.TypeAssert[v1.ResourceList](value); ok {
			s.resources(below, f.json, resources)
			continue
		}
		if s.judge(below, value, fieldSupport[v.Type().Name()+"."+f.json]) {
			s.visit(below, value)
		}
	}
}

// judge applies an entry to a value that is set, and says whether to look at what is below.
func (s *supportOf) judge(path *field.Path, v reflect.Value, entry support) bool {
	text := fmt.Sprint(reflect.Indirect(v))
	if entry.verdict == isUsed || slices.Contains(entry.except, text) {
		return true
	}
	switch entry.verdict {
	case isPointless:
	case isIgnored:
		if s.ignored[entry.reason] == nil {
			s.reasons = append(s.reasons, entry.reason)
		}
		s.ignored[entry.reason] = append(s.ignored[entry.reason], path.String())
	default:
		problem, want := entry.reason, "remove it"
		if entry.except != nil {
			problem, want = fmt.Sprintf("%s: %s", text, entry.reason), "use "+strings.Join(entry.except, " or ")+", or leave it out"
		}
		s.errs = append(s.errs, s.object.errorf(path.String(), want, "%s", problem))
	}
	return false
}

// resources judges the entries of a resource list, by list and resource: limits.cpu.
func (s *supportOf) resources(path *field.Path, list string, resources v1.ResourceList) {
	for _, name := range sortedKeys(resources) {
		entry, ok := resourceSupport[list+"."+string(name)]
		switch {
		case strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix):
			entry = used // by admission: a machine has them or not
		case !ok:
			entry = notYet
		}
		s.judge(path.Key(string(name)), reflect.ValueOf(name), entry)
	}
}
