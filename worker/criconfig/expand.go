package criconfig

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Expand replaces $(NAME) by the variable's value. An unknown name stays as it
// is written, $$ is a literal $, an unterminated $( is literal (A-ENV-4).
func Expand(text string, lookup func(name string) (string, bool)) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		text = expandReference(&out, after, lookup)
	}
}

// expandReference writes what the $ just read stands for and returns the text
// behind it.
func expandReference(out *strings.Builder, after string, lookup func(string) (string, bool)) string {
	if rest, escaped := strings.CutPrefix(after, "$"); escaped {
		out.WriteByte('$')
		return rest
	}
	inside, opened := strings.CutPrefix(after, "(")
	name, rest, closed := strings.Cut(inside, ")")
	if !opened || !closed {
		out.WriteByte('$')
		return after
	}
	if value, known := lookup(name); known {
		out.WriteString(value)
	} else {
		out.WriteString("$(" + name + ")")
	}
	return rest
}

func expandAll(texts []string, lookup func(string) (string, bool)) []string {
	var out []string
	for _, text := range texts {
		out = append(out, Expand(text, lookup))
	}
	return out
}

// SubPath is the sub path of a volume mount: subPath as written, or subPathExpr
// expanded with the container's variables. A variable that is missing or empty
// is an error (A-VOL-3).
func SubPath(mount *v1.VolumeMount, env []KeyValue) (string, error) {
	if mount.SubPathExpr == "" {
		return mount.SubPath, nil
	}
	values := make(map[string]string, len(env))
	for _, kv := range env {
		values[kv.Name] = kv.Value
	}
	var missing []string
	path := Expand(mount.SubPathExpr, func(name string) (string, bool) {
		if values[name] == "" {
			missing = append(missing, name)
		}
		return values[name], true
	})
	if len(missing) > 0 {
		slices.Sort(missing)
		missing = slices.Compact(missing)
		return "", fmt.Errorf("missing value for %s", strings.Join(missing, ", "))
	}
	return path, nil
}

// ExpandLiterally replaces references to a container's variables by what its env
// list says literally, as in the commands of exec probes: one with valueFrom is
// empty there (A-PROBE-13).
func ExpandLiterally(args []string, env []v1.EnvVar) []string {
	values := map[string]string{}
	for _, one := range env {
		values[one.Name] = one.Value
	}
	var out []string
	for _, arg := range args {
		out = append(out, Expand(arg, func(name string) (string, bool) {
			value, known := values[name]
			return value, known
		}))
	}
	return out
}
