package run

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lifepod/lifepod/manifest"
)

// variables are what --env-file and -e set, in their order. Of several values of a name the last counts, -e before --env-file.
func (o Options) variables() (list []v1.EnvVar, err error) {
	for _, name := range o.EnvFiles {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("--env-file: %w", err)
		}
		n := 0
		for line := range strings.Lines(string(data)) {
			n++
			line = strings.TrimRight(line, "\r\n")
			if text := strings.TrimSpace(line); text == "" || text[0] == '#' {
				continue
			}
			if list, err = addVariable(list, line); err != nil {
				return nil, fmt.Errorf("--env-file %s:%d: %w", name, n, err)
			}
		}
	}
	for _, text := range o.Env {
		if list, err = addVariable(list, text); err != nil {
			return nil, fmt.Errorf("-e %w", err)
		}
	}
	return list, nil
}

// addVariable adds NAME=VALUE, or NAME with its value in lifepod's own environment.
func addVariable(list []v1.EnvVar, text string) ([]v1.EnvVar, error) {
	name, value, has := strings.Cut(text, "=")
	if problems := validation.IsRelaxedEnvVarName(name); problems != nil {
		return nil, fmt.Errorf("%q: the name of a variable is wrong: %s; want NAME=VALUE", text, strings.Join(problems, ", "))
	}
	if !has {
		if value, has = os.LookupEnv(name); !has {
			return nil, fmt.Errorf("%s: this environment has no such variable; want NAME=VALUE", name)
		}
	}
	list = slices.DeleteFunc(list, func(v v1.EnvVar) bool { return v.Name == name })
	return append(list, v1.EnvVar{Name: name, Value: value}), nil
}

// setVariables sets them in all containers of a pod. A new one comes before the container's own, which may use it as $(NAME).
func setVariables(pod *v1.Pod, variables []v1.EnvVar) {
	for _, c := range slices.Concat(pointers(pod.Spec.InitContainers), pointers(pod.Spec.Containers)) {
		var added []v1.EnvVar
		for _, v := range variables {
			v.Value = strings.ReplaceAll(v.Value, "$", "$$") // it is a value, and refers to nothing
			if i := slices.IndexFunc(c.Env, func(has v1.EnvVar) bool { return has.Name == v.Name }); i >= 0 {
				c.Env[i] = v
			} else {
				added = append(added, v)
			}
		}
		c.Env = append(added, c.Env...)
	}
}

func pointers(containers []v1.Container) (list []*v1.Container) {
	for i := range containers {
		list = append(list, &containers[i])
	}
	return list
}

// placeholder is ${NAME} or ${NAME:-DEFAULT}, and with one more $ before it the text itself.
var placeholder = regexp.MustCompile(`\$?\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}\n]*)?\}`)

// substitute puts the values of variables, and of lifepod's own environment, into the text of manifests. All that have no value are
// one error.
func substitute(sources []manifest.Source, variables []v1.EnvVar) error {
	var errs []error
	for i, source := range sources {
		at := 0
		var text []byte
		for _, found := range placeholder.FindAllSubmatchIndex(source.Data, -1) {
			text = append(text, source.Data[at:found[0]]...)
			at = found[1]
			if source.Data[found[0]+1] == '$' {
				text = append(text, source.Data[found[0]+1:at]...)
				continue
			}
			name := string(source.Data[found[2]:found[3]])
			value, has := valueOf(name, variables)
			if found[4] >= 0 && value == "" {
				value, has = string(source.Data[found[4]+len(":-"):found[5]]), true
			}
			if !has {
				line := 1 + strings.Count(string(source.Data[:found[0]]), "\n")
				errs = append(errs, &manifest.Error{File: source.Name, Line: line, Problem: "${" + name + "} has no value", Want: fmt.Sprintf("give it one by -e %s=VALUE, or a default: ${%s:-VALUE}", name, name)})
			}
			text = append(text, value...)
		}
		text = append(text, source.Data[at:]...)
		sources[i].Data = text
	}
	return errors.Join(errs...)
}

func valueOf(name string, variables []v1.EnvVar) (string, bool) {
	for _, v := range variables {
		if v.Name == name {
			return v.Value, true
		}
	}
	return os.LookupEnv(name)
}
