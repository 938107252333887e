package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/yamlsyntax"
)

// document is one file: what it says, proven to be of the right types.
type document struct {
	file   string
	fields map[string]any
	below  *document // has what this one doesn't say; nil: nothing
}

// merged are the fields, and those below.
func (d document) merged() map[string]any {
	if d.below == nil {
		return d.fields
	}
	return mergePatch(runtime.DeepCopyJSON(d.below.merged()), d.fields)
}

// tell says of each field which file has set it.
func (d document) tell(from map[string]string) {
	if d.below != nil {
		d.below.tell(from)
	}
	for field := range d.fields {
		from[field] = d.file
	}
}

// pathFields hold paths of files, which may be relative.
var pathFields = [][]string{
	{"staticPodPath"},
	{"authentication", "x509", "clientCAFile"},
	{"tlsCertFile"},
	{"tlsPrivateKeyFile"},
	{"resolvConf"},
	{"volumePluginDir"},
	{"podLogsDir"},
}

// readDocument reads one file strictly.
func readDocument(file string) (document, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return document{}, fmt.Errorf("read configuration: %w", err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return document{}, fmt.Errorf("read configuration: %w", err) // names the file itself
	}
	fields, err := decode(data)
	if err != nil {
		return document{}, fmt.Errorf("read configuration %s: %w", file, err)
	}
	for _, path := range pathFields {
		value, found, err := unstructured.NestedString(fields, path...)
		if err == nil && found && value != "" && !filepath.IsAbs(value) {
			err = unstructured.SetNestedField(fields, filepath.Join(filepath.Dir(file), value), path...)
		}
		if err != nil {
			return document{}, fmt.Errorf("read configuration %s: %s: %w", file, strings.Join(path, "."), err)
		}
	}
	return document{file: file, fields: fields}, nil
}

// decode gives the fields of the one KubeletConfiguration in data.
func decode(data []byte) (map[string]any, error) {
	only, err := yamlsyntax.Only(data, "KubeletConfiguration") // of several, the kubelet reads the first one only
	if err != nil {
		return nil, err
	}
	text, err := yaml.YAMLToJSONStrict(only.Text) // finds repeated fields, and their lines
	if err != nil {
		return nil, only.Find(err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, errors.New("is not a mapping of fields: should be a KubeletConfiguration")
	}
	if err := checkType(fields); err != nil {
		return nil, err
	}
	strict, err := sigsjson.UnmarshalStrict(text, &kubeletconfig.KubeletConfiguration{})
	if err != nil {
		return nil, undecodable(fields, err)
	}
	return fields, errors.Join(strict...)
}

func checkType(fields map[string]any) error {
	want := kubeletconfig.SchemeGroupVersion
	if fields["apiVersion"] != want.String() {
		return fmt.Errorf("apiVersion: is %q: should be %s", text(fields["apiVersion"]), want)
	}
	if fields["kind"] != "KubeletConfiguration" {
		return fmt.Errorf("kind: is %q: should be KubeletConfiguration", text(fields["kind"]))
	}
	return nil
}

func text(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// undecodable finds the fields to which an error of decoding belongs, which some
// types don't tell (a duration that is a number): each field is tried alone.
func undecodable(fields map[string]any, whole error) error {
	var errs []error
	walk(fields, nil, func(path []string, value any) {
		alone := map[string]any{}
		if unstructured.SetNestedField(alone, value, path...) != nil {
			return
		}
		if _, err := typed(alone); err != nil {
			errs = append(errs, fmt.Errorf("%s: is %s: %s", strings.Join(path, "."), shown(value), wanted(err)))
		}
	})
	if len(errs) == 0 {
		return whole
	}
	return errors.Join(errs...)
}

func shown(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// wanted says what a value should have been.
func wanted(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind := strings.TrimPrefix(wrong.Type.String(), "*")
		return "should be of type " + kind
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// walk visits all that is not a mapping, in the order of the names.
func walk(fields map[string]any, path []string, visit func(path []string, value any)) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		below := append(slices.Clone(path), name)
		if inner, ok := fields[name].(map[string]any); ok && len(inner) > 0 {
			walk(inner, below, visit)
			continue
		}
		visit(below, fields[name])
	}
}
