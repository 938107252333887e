package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
)

// object is one API object of a document: the document itself, or an item of the list that it is.
type object struct {
	document *parsed
	prefix   string // of fields, "items[2]." for an item of a list
	kind     string
	value    map[string]any
}

// lists are the kinds that hold other objects, and the kind of an item that doesn't say its own.
var lists = map[string]string{"List": "", "PodList": "Pod", "ConfigMapList": "ConfigMap", "SecretList": "Secret", "PersistentVolumeClaimList": claimKind}

const claimKind = "PersistentVolumeClaim"

// wantObjects is what is read.
const wantObjects = "there should be one Pod and the ConfigMaps, Secrets, PersistentVolumeClaims and RuntimeClass that it uses"

// wantCluster is what runs all other kinds.
const wantCluster = "for other kinds start a cluster with `lifepod up` and use `lifepod kubectl apply -f FILE`"

// wantKind names the kinds that are read.
const wantKind = "should be Pod, ConfigMap, Secret or PersistentVolumeClaim"

// objects takes a document apart into the objects of it, each known to be of a kind that is read: all means those of
// lifepod run.
func objects(p *parsed, all bool) ([]*object, []*Error) {
	whole := &object{document: p, value: p.value}
	whole.kind, _ = p.value["kind"].(string)
	itemKind, isList := lists[whole.kind]
	if !isList {
		return identified([]*object{whole}, all)
	}
	items, ok := p.value["items"].([]any)
	if !ok && p.value["items"] != nil {
		return nil, []*Error{whole.errorf("items", "should be a list of objects", "is %s", whole.describe("items", p.value["items"]))}
	}
	var found []*object
	for i, item := range items {
		prefix := fmt.Sprintf("items[%d]", i)
		value, ok := item.(map[string]any)
		if !ok {
			return nil, []*Error{whole.errorf(prefix, "should be an object", "is %s", whole.describe(prefix, item))}
		}
		if itemKind != "" && value["kind"] == nil && value["apiVersion"] == nil {
			value["kind"], value["apiVersion"] = itemKind, "v1"
		}
		o := &object{document: p, prefix: prefix + ".", value: value}
		o.kind, _ = value["kind"].(string)
		found = append(found, o)
	}
	return identified(found, all)
}

// identified checks apiVersion and kind.
func identified(found []*object, all bool) ([]*object, []*Error) {
	var errs []*Error
	for _, o := range found {
		err := o.identify()
		if all {
			err = o.identifyAny(err)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return found, errs
}

func (o *object) identify() *Error {
	if o.value["kind"] == nil {
		return o.errorf("kind", wantKind, "missing")
	}
	if o.kind == "" {
		return o.errorf("kind", wantKind, "is %s", o.describe("kind", o.value["kind"]))
	}
	switch o.kind {
	case "Pod", "ConfigMap", "Secret", claimKind:
		return o.wantVersion("v1")
	case "RuntimeClass":
		return o.wantVersion(runtimeClassVersion)
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController":
		return o.errorf("kind", wantCluster+"; or make a Pod of what stands below spec.template", "only a Pod can be run, not a %s", o.kind)
	case "CronJob":
		return o.errorf("kind", wantCluster+"; or make a Pod of what stands below spec.jobTemplate.spec.template", "only a Pod can be run, not a CronJob")
	case "Service":
		return o.errorf("kind", wantCluster+"; lifepod run -p publishes ports of a Pod", "only a Pod can be run, not a Service")
	}
	if near := plain.Nearest(o.kind, []string{"Pod", "ConfigMap", "Secret", claimKind}); near != "" {
		return o.errorf("kind", "did you mean "+near+"?", "unknown kind %s", o.kind)
	}
	return o.errorf("kind", wantObjects+"; "+wantCluster, "%s cannot be run", o.kind)
}

// identifyAny takes the kinds of lifepod run as well; refusal is why another reader does not take this one.
func (o *object) identifyAny(refusal *Error) *Error {
	workload, isWorkload := workloadKinds[o.kind]
	_, known := passedKinds[o.kind]
	isService := o.kind == serviceKind
	switch {
	case refusal == nil, o.passedOver() != "", isService && o.value["apiVersion"] == "v1":
		return nil
	case isWorkload:
		return o.wantVersion(workload.version)
	case o.kind == "":
		refusal.Want = "should be Pod, " + strings.Join(sortedKeys(workloadKinds), ", ") + ", ConfigMap, Secret or PersistentVolumeClaim"
		return refusal
	case known, isService && o.value["apiVersion"] != nil:
		return o.errorf("apiVersion", wantCluster, "a %s of %v cannot be run", o.kind, o.value["apiVersion"])
	case strings.HasSuffix(refusal.Field, "apiVersion"):
		return refusal
	}
	if o.kind == "Kustomization" {
		return o.errorf("kind", "-k FOLDER runs what it builds", "a Kustomization is no manifest")
	}
	kinds := slices.Concat([]string{"Pod", "ConfigMap", "Secret", claimKind, "RuntimeClass", serviceKind}, sortedKeys(workloadKinds), sortedKeys(passedKinds))
	group, _ := o.value["apiVersion"].(string)
	if near := plain.Nearest(o.kind, kinds); near != "" && !strings.Contains(group, ".") { // Kubernetes' own workloads have none
		return o.errorf("kind", "did you mean "+near+"?", "unknown kind %s", o.kind)
	}
	return o.errorf("kind", wantCluster, "%s cannot be run", o.kind)
}

func (o *object) wantVersion(want string) *Error {
	version, _ := o.value["apiVersion"].(string)
	switch {
	case o.value["apiVersion"] == nil:
		return o.errorf("apiVersion", "should be "+want, "missing")
	case version != want:
		return o.errorf("apiVersion", "should be "+want, "a %s has no version %v", o.kind, o.value["apiVersion"])
	}
	return nil
}

// describe says what the value of a field is.
func (o *object) describe(field string, v any) string {
	return describe(v, o.document.textOf(o.prefix+field))
}

// errorf is an error about a field of the object.
func (o *object) errorf(field, want, format string, args ...any) *Error {
	field = strings.TrimSuffix(o.prefix+field, ".")
	return &Error{
		File: o.document.file, Document: o.document.number, Line: o.document.lineOf(field),
		Field: field, Problem: fmt.Sprintf(format, args...), Want: want,
	}
}

// warning is about a field of the object.
func (o *object) warning(field, format string, args ...any) *Error {
	return o.errorf(field, "", format, args...)
}

// place is the file and line of the object, for messages about another.
func (o *object) place() string {
	if line := o.document.lineOf(o.prefix + "kind"); line > 0 {
		return fmt.Sprintf("%s:%d", o.document.file, line)
	}
	return o.document.file
}

// mapping gives the mapping below a key, nil if there is none.
func mapping(value map[string]any, key string) map[string]any {
	m, _ := value[key].(map[string]any)
	return m
}
