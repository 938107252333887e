package manifest

import (
	"cmp"
	"fmt"
	"slices"
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
	// Command is what reads the input, for the errors of Read; lifepod sim if nothing is said.
	Command string
	// Name takes the place of the Pod's metadata.name (and generateName), before validation; there must be one Pod then.
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
	// After names the Pod of a StatefulSet that must be Ready before this one begins; empty: none.
	After string
	// Warnings are lines for the user, each complete in itself.
	Warnings []string
}

// Read reads the one Pod of all sources together. An error is an *Error; then there is no Set.
//
// A ConfigMap or Secret without a namespace gets the Pod's, a Pod without one gets "default".
func Read(sources []Source, o Options) (*Set, error) {
	in := newInput(sources, o)
	if err := in.read(); err != nil {
		return nil, err
	}
	set := in.set(in.pods[0].typed)
	set.Warnings = in.warningLines()
	return set, nil
}

// Group is what stands in the manifests of one lifepod run.
type Group struct {
	// Sets are the Pods, in the order of the input, each with what it may use. They have no warnings of their own.
	Sets []*Set
	// Jobs make their Pods while they run.
	Jobs []*Job
	// Workloads are those that Pods are of, in the order of the input.
	Workloads []Workload
	// Services are those that select pods of the run.
	Services []*v1.Service
	// Warnings are lines for the user, each complete in itself.
	Warnings []string
}

// All are the Sets, and that of each Job.
func (g *Group) All() []*Set {
	all := slices.Clone(g.Sets)
	for _, j := range g.Jobs {
		all = append(all, j.Set)
	}
	return all
}

// ReadAll reads any number of Pods, and of what Pods are made of. An error is an *Error; then there is no Group.
//
// A ConfigMap or Secret without a namespace gets that of the Pods, if they are all in the same.
func ReadAll(sources []Source, o Options) (*Group, error) {
	in := newInput(sources, o)
	in.all = true
	if err := in.read(); err != nil {
		return nil, err
	}
	return in.group(), nil
}

func newInput(sources []Source, o Options) *input {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	o.Command = cmp.Or(o.Command, "lifepod sim")
	return &input{options: o, sources: sources, index: map[objectKey]*dataInput{}, first: map[objectKey]*object{}}
}

func (in *input) read() error {
	in.readAll(in.readObject)
	if in.errs != nil {
		return in.failure()
	}
	if len(in.pods) == 0 {
		return in.noPod()
	}
	in.admit()
	in.checkReferences()
	in.checkClaims()
	in.checkClaimNames()
	if in.errs != nil {
		return in.failure()
	}
	if len(in.pods) == 0 {
		return in.noPod()
	}
	in.checkUnused()
	for _, p := range in.passed {
		in.warnings = append(in.warnings, p.warning())
	}
	return nil
}

// input is what has been read so far.
type input struct {
	options  Options
	sources  []Source
	all      bool // any number of Pods, and what Pods are made of
	pods     []podInput
	passed   []passed // objects, by what passing over them means
	services []serviceInput
	found    []*v1.Service // those that count
	data     []*dataInput
	classes  []classInput
	index    map[objectKey]*dataInput // complete once the Pod's namespace is known
	first    map[objectKey]*object    // of each kind, namespace and name
	errs     []*Error
	warnings []*Error

	workloads []Workload
}

type podInput struct {
	object *object
	typed  *v1.Pod
	of     *workload // nil: it stands alone
	after  string    // see Set.After
	copy   bool      // another Pod of the same template was checked before
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
	found, errs := objects(p, in.all)
	in.errs = append(in.errs, errs...)
	if errs != nil {
		return
	}
	for _, o := range found {
		in.errs = append(in.errs, read(o)...)
	}
}

func (in *input) readObject(o *object) []*Error {
	if means := o.passedOver(); in.all && means != "" {
		in.passOver(o, means)
		return nil
	}
	in.warnings = append(in.warnings, o.dropServerOwned()...)
	if _, is := workloadKinds[o.kind]; is {
		return in.readWorkload(o)
	}
	switch o.kind {
	case "Pod":
	case "RuntimeClass":
		return in.readClass(o)
	case serviceKind:
		return in.readService(o)
	default:
		return in.readData(o)
	}
	if !in.all && len(in.pods) > 0 {
		want := in.options.Command + " takes one, give each Pod a command of its own"
		return []*Error{o.errorf("kind", want, "this is a second Pod, the first is in %s", in.pods[0].object.place())}
	}
	in.warnings = append(in.warnings, o.readOnExit()...)
	p := podInput{object: o, typed: &v1.Pod{}}
	in.pods = append(in.pods, p)
	return o.decode(p.typed)
}

// admit completes and checks the Pods, then what they may use.
func (in *input) admit() {
	if in.options.Name != "" {
		in.rename()
	}
	in.admitClasses()
	in.expand()
	for _, p := range in.pods {
		errs, warnings := in.errs, in.warnings
		in.admitPod(p.object, p.typed)
		if p.copy {
			in.errs, in.warnings = errs, warnings
		}
	}
	for _, p := range in.pods {
		in.errs = append(in.errs, in.unique(p.object, &p.typed.ObjectMeta)...)
	}
	in.admitData(in.namespace())
	in.admitServices(in.namespace())
}

// rename gives the Pod the name of --name.
func (in *input) rename() {
	if len(in.pods) > 1 {
		in.errs = append(in.errs, &Error{Field: "--name", Problem: fmt.Sprintf("names one Pod, and there are %d", len(in.pods)), Want: "should be left out"})
		return
	}
	if of := in.pods[0].of; of != nil {
		in.errs = append(in.errs, &Error{Field: "--name", Problem: fmt.Sprintf("names one Pod, and there is a %s", of.object.kind), Want: "should be left out"})
		return
	}
	pod := in.pods[0].typed
	pod.Name, pod.GenerateName = in.options.Name, ""
}

// namespace is that of all Pods; empty if they are in several.
func (in *input) namespace() string {
	if len(in.pods) == 0 {
		return metav1.NamespaceDefault
	}
	namespace := in.pods[0].typed.Namespace
	for _, p := range in.pods {
		if p.typed.Namespace != namespace {
			return ""
		}
	}
	return namespace
}

// admitPod completes and checks a Pod.
func (in *input) admitPod(o *object, pod *v1.Pod) {
	in.warnings = append(in.warnings, dropAPIAccess(o, pod)...)
	unsupported, warnings := checkSupport(o, pod)
	in.warnings = append(in.warnings, warnings...)

	in.setOverhead(o, pod)
	fillMetadata(&pod.ObjectMeta, metav1.NamespaceDefault, in.options.Now)
	invalid, said := admitPod(pod)
	for _, w := range said {
		path, text, _ := strings.Cut(w, ": ")
		in.warnings = append(in.warnings, o.warning(path, "%s", text))
	}
	in.errs = append(in.errs, in.nameErrors(o.fieldErrors(invalid))...)
	in.errs = append(in.errs, checkImages(o, pod)...)
	in.errs = append(in.errs, unsupported...)
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

// checkUnused warns of what no Pod can use.
func (in *input) checkUnused() {
	for _, d := range in.data {
		if !slices.ContainsFunc(in.pods, func(p podInput) bool { return p.typed.Namespace == d.meta.Namespace }) {
			than := "the Pod"
			if len(in.pods) > 1 {
				than = "the Pods"
			}
			in.warnings = append(in.warnings, d.object.warning("metadata.namespace", "%s %q is not used: it is in another namespace than %s", d.object.kind, d.meta.Name, than))
		}
	}
}

func (in *input) group() *Group {
	g := &Group{Workloads: in.workloads, Services: in.found, Warnings: in.warningLines()}
	for _, p := range in.pods {
		set := in.set(p.typed)
		if p.of != nil && p.of.job != nil {
			p.of.job.Set = set
			g.Jobs = append(g.Jobs, p.of.job)
			continue
		}
		set.After = p.after
		g.Sets = append(g.Sets, set)
	}
	return g
}

// set is a Pod with what it may use.
func (in *input) set(pod *v1.Pod) *Set {
	set := &Set{Pod: pod}
	for _, d := range in.data {
		switch {
		case d.meta.Namespace != pod.Namespace:
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

func (in *input) noPod() error {
	want, inIt := wantObjects, "there should be one document with apiVersion: v1 and kind: Pod"
	if in.all {
		want, inIt = wantAll, wantAll
	}
	var names []string
	for _, s := range in.sources {
		names = append(names, s.Name)
	}
	if names == nil {
		return &Error{Problem: "there is no input", Want: want}
	}
	return &Error{File: strings.Join(names, ", "), Problem: "there is no Pod", Want: inIt}
}
