package manifest

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Source is one file of input.
type Source struct {
	// Name is the file as the user called it, <stdin> for standard input. It is only shown.
	Name string
	// Data is the file's content. Read keeps no part of it.
	Data []byte
}

// Options change what Read makes of its input.
type Options struct {
	// Command is what reads the input, for errors; lifepod run if nothing is said.
	Command string
	// Name takes the place of the Pod's metadata.name (and generateName), before validation.
	Name string
	// Now becomes the creationTimestamp of every object, in whole seconds. Zero means the current time.
	Now time.Time
}

// Set is a Pod and what it uses, each as an API server would have stored it.
type Set struct {
	// Pod has a random UID, generation 1, status.phase Pending and status.qosClass.
	Pod *v1.Pod
	// ConfigMaps and Secrets are those of the Pod's namespace, used or not, in the order of the input.
	ConfigMaps []*v1.ConfigMap
	Secrets    []*v1.Secret
	// RuntimeClasses are all that were read; the Pod has the overhead of its own.
	RuntimeClasses []*nodev1.RuntimeClass
	// Claims are the PersistentVolumeClaims of the Pod's namespace.
	Claims []*v1.PersistentVolumeClaim
	// Warnings are lines for the user, each complete in itself.
	Warnings []string
}

// Read reads all sources together. An error is an *Error; then there is no Set.
//
// A ConfigMap or Secret without a namespace gets the Pod's, a Pod without one gets "default".
func Read(sources []Source, o Options) (*Set, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	o.Command = cmp.Or(o.Command, "lifepod run")
	in := &input{options: o, sources: sources, index: map[dataKey]*dataInput{}}
	in.readAll(in.readObject)
	if in.errs != nil {
		return nil, in.failure()
	}
	if in.pod == nil {
		return nil, noPod(sources)
	}
	in.admit()
	in.checkReferences()
	in.checkClaims()
	in.checkClaimNames()
	if in.errs != nil {
		return nil, in.failure()
	}
	return in.set(), nil
}

// input is what has been read so far.
type input struct {
	options  Options
	sources  []Source
	pod      *podInput
	data     []*dataInput
	classes  []classInput
	index    map[dataKey]*dataInput // complete once the Pod's namespace is known
	errs     []*Error
	warnings []string
}

// podInput is the Pod and where it comes from.
type podInput struct {
	object *object
	typed  *v1.Pod
}

// readAll hands every object of the input to read.
func (in *input) readAll(read func(*object) []*Error) {
	total := 0
	for _, s := range in.sources {
		if total += len(s.Data); total > maxBytes {
			in.errs = append(in.errs, &Error{File: s.Name, Problem: "the files are too large", Want: fmt.Sprintf("should be at most %d MiB in all", maxBytes>>20)})
			return
		}
		documents, err := split(s)
		if err != nil {
			in.errs = append(in.errs, err)
			continue
		}
		for _, d := range documents {
			in.readDocument(d, read)
		}
	}
}

func (in *input) readDocument(d document, read func(*object) []*Error) {
	p, errs := parse(d)
	in.errs = append(in.errs, errs...)
	if p == nil {
		return
	}
	found, errs := objects(p)
	in.errs = append(in.errs, errs...)
	if errs != nil {
		return
	}
	for _, o := range found {
		in.errs = append(in.errs, read(o)...)
	}
}

func (in *input) readObject(o *object) []*Error {
	in.warnings = append(in.warnings, o.dropServerOwned()...)
	switch o.kind {
	case "Pod":
	case "RuntimeClass":
		return in.readClass(o)
	default:
		return in.readData(o)
	}
	if in.pod != nil {
		want := in.options.Command + " takes one, give each Pod a command of its own"
		return []*Error{o.errorf("kind", want, "this is a second Pod, the first is in %s", in.pod.object.place())}
	}
	in.warnings = append(in.warnings, o.readOnExit()...)
	in.pod = &podInput{object: o, typed: &v1.Pod{}}
	return o.decode(in.pod.typed)
}

// admit completes and checks the Pod, then what it may use.
func (in *input) admit() {
	pod, o := in.pod.typed, in.pod.object
	if in.options.Name != "" {
		pod.Name, pod.GenerateName = in.options.Name, ""
	}
	in.warnings = append(in.warnings, dropAPIAccess(o, pod)...)
	unsupported, warnings := checkSupport(o, pod)
	in.warnings = append(in.warnings, warnings...)

	in.admitClasses()
	in.setOverhead(o, pod)
	fillMetadata(&pod.ObjectMeta, metav1.NamespaceDefault, in.options.Now)
	invalid, warnings := admitPod(pod)
	for _, w := range warnings {
		path, text, _ := strings.Cut(w, ": ")
		in.warnings = append(in.warnings, o.warning(path, "%s", text))
	}
	in.errs = append(in.errs, in.nameErrors(o.fieldErrors(invalid))...)
	in.errs = append(in.errs, checkImages(o, pod)...)
	in.errs = append(in.errs, unsupported...)
	in.admitData(pod.Namespace)
}

// nameErrors says of errors of the Pod's name where the name comes from.
func (in *input) nameErrors(errs []*Error) []*Error {
	for _, e := range errs {
		if in.options.Name != "" && strings.HasSuffix(e.Field, "metadata.name") {
			*e = Error{Field: "--name", Problem: e.Problem}
		}
	}
	return errs
}

func (in *input) set() *Set {
	set := &Set{Pod: in.pod.typed, Warnings: in.warnings}
	for _, d := range in.data {
		if d.meta.Namespace != set.Pod.Namespace {
			set.Warnings = append(set.Warnings, d.object.warning("metadata.namespace", "%s %q is not used: it is in another namespace than the Pod", d.object.kind, d.meta.Name))
			continue
		}
		switch {
		case d.configMap != nil:
			set.ConfigMaps = append(set.ConfigMaps, d.configMap)
		case d.secret != nil:
			set.Secrets = append(set.Secrets, d.secret)
		default:
			set.Claims = append(set.Claims, d.claim)
		}
	}
	for _, c := range in.classes {
		set.RuntimeClasses = append(set.RuntimeClasses, c.typed)
	}
	return set
}

func noPod(sources []Source) error {
	var names []string
	for _, s := range sources {
		names = append(names, s.Name)
	}
	if names == nil {
		return &Error{Problem: "there is no input", Want: wantObjects}
	}
	return &Error{File: strings.Join(names, ", "), Problem: "there is no Pod", Want: "there should be one document with apiVersion: v1 and kind: Pod"}
}
