package criconfig

import (
	v1 "k8s.io/api/core/v1"
)

// Objects looks up the ConfigMaps and Secrets that a pod refers to. A missing
// object is an error for which apierrors.IsNotFound holds; only that kind of
// error is forgiven by `optional: true` (A-ENV-5).
type Objects interface {
	ConfigMap(namespace, name string) (*v1.ConfigMap, error)
	Secret(namespace, name string) (*v1.Secret, error)
}

// KeyValue is one environment variable.
type KeyValue struct {
	Name  string
	Value string
}

// EnvironmentInput is everything the environment of one container depends on. Nothing in
// it is changed.
type EnvironmentInput struct {
	Pod       *v1.Pod
	Container *v1.Container
	Objects   Objects

	// PodIPs and HostIPs are in the order of preference of the node's family.
	PodIPs  []string
	HostIPs []string
	// Allocatable stands in for limits that neither container nor pod sets
	// (A-ENV-8).
	Allocatable v1.ResourceList
	// Services are the service variables (A-ENV-7), lowest in precedence; nil
	// where there are no Services.
	Services []KeyValue
	// Assigned are variables of devices. The container's own go before them, and don't see
	// them; command, args and paths of mounts do (A-DEV-1).
	Assigned []KeyValue
	// VolumePath is the host folder of a volume of the pod, for fileKeyRef; nil
	// where that is not supported.
	VolumePath func(volume string) (string, bool)
}

// Environment is what goes into the runtime's container config.
type Environment struct {
	// Env has every name once, in a stable order: those of devices, envFrom sources in
	// order (keys sorted inside each), then env, then service variables (A-ENV-9).
	Env     []KeyValue
	Command []string
	Args    []string
}

// BuildEnvironment resolves the variables of a container and expands its command and args
// with them.
func BuildEnvironment(in EnvironmentInput) (Environment, error) {
	b := builder{EnvironmentInput: in, vars: variables{index: map[string]int{}}, services: map[string]string{}}
	for _, s := range in.Services {
		b.services[s.Name] = s.Value
	}
	if err := b.addEnvFrom(); err != nil {
		return Environment{}, err
	}
	if err := b.addEnv(); err != nil {
		return Environment{}, err
	}
	for _, s := range in.Services {
		if _, set := b.vars.lookup(s.Name); !set {
			b.vars.set(s.Name, s.Value, origin{})
		}
	}
	all := b.vars.after(in.Assigned)
	result := Environment{
		Env:     all.list,
		Command: expandAll(in.Container.Command, all.lookup),
		Args:    expandAll(in.Container.Args, all.lookup),
	}
	return result, result.check(all.origins)
}

type builder struct {
	EnvironmentInput
	vars     variables
	services map[string]string
}

// lookup finds a variable for the expansion of a value: variables set so far,
// then service variables (A-ENV-4).
func (b *builder) lookup(name string) (string, bool) {
	if v, ok := b.vars.lookup(name); ok {
		return v, true
	}
	v, ok := b.services[name]
	return v, ok
}

// addEnv adds the entries of `env`. An entry without value and source is an
// empty variable; one whose optional source is missing is left out.
func (b *builder) addEnv() error {
	for i := range b.Container.Env {
		e := &b.Container.Env[i]
		if e.Value != "" || e.ValueFrom == nil {
			b.vars.set(e.Name, Expand(e.Value, b.lookup), origin{})
			continue
		}
		value, found, err := b.resolve(e.ValueFrom)
		if err != nil {
			return err
		}
		if found {
			b.vars.set(e.Name, value, originOf(e.ValueFrom))
		}
	}
	return nil
}

// variables is a map that remembers the order in which names first came.
type variables struct {
	list    []KeyValue
	origins []origin // of each of list
	index   map[string]int
}

func (v *variables) set(name, value string, from origin) {
	if i, ok := v.index[name]; ok {
		v.list[i].Value, v.origins[i] = value, from
		return
	}
	v.index[name] = len(v.list)
	v.list, v.origins = append(v.list, KeyValue{Name: name, Value: value}), append(v.origins, from)
}

// after returns the variables behind those that come first and aren't among them.
func (v *variables) after(first []KeyValue) variables {
	all := variables{index: map[string]int{}}
	for _, e := range first {
		if _, own := v.index[e.Name]; !own {
			all.set(e.Name, e.Value, origin{})
		}
	}
	for i, e := range v.list {
		all.set(e.Name, e.Value, v.origins[i])
	}
	return all
}

func (v *variables) lookup(name string) (string, bool) {
	i, ok := v.index[name]
	if !ok {
		return "", false
	}
	return v.list[i].Value, true
}
