package stages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"

	"github.com/lifepod/lifepod/internal/yamlsyntax"
)

// File is one file of input.
type File struct {
	Name string // as the user called it; it is only shown
	Data []byte
}

// group is that of KWOK's kinds; version is the one that is read.
const (
	group   = "kwok.x-k8s.io"
	version = group + "/v1alpha1"
)

// Set is the Stages of files.
type Set struct {
	stages []*Stage
}

// Read reads the Stages of pods; notes say what else was there. An error is about a file that can't be read.
func Read(files []File, notes *Notes) (*Set, error) {
	s := &Set{}
	for _, f := range files {
		if err := s.read(f, notes); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Names are those of the Stages, in the order of the files.
func (s *Set) Names() (names []string) {
	for _, stage := range s.stages {
		names = append(names, stage.Name)
	}
	return names
}

// Leave takes the Stages of a name out; false: there are none.
func (s *Set) Leave(name string) bool {
	before := len(s.stages)
	s.stages = slices.DeleteFunc(s.stages, func(stage *Stage) bool { return stage.Name == name })
	return len(s.stages) < before
}

func (s *Set) read(f File, notes *Notes) error {
	if !utf8.Valid(f.Data) {
		return fmt.Errorf("%s: the file is not text; want Stages of KWOK in YAML, or a trace of SimKube 2, which is a map in MessagePack", f.Name)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(f.Data))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return syntaxError(f, err)
		}
		if len(node.Content) == 0 {
			continue
		}
		if err := s.document(f.Name, node.Content[0], notes); err != nil {
			return err
		}
	}
}

func syntaxError(f File, err error) error {
	problem := (&yamlsyntax.Document{Line: 1, Text: f.Data}).Find(err)
	if problem.Line == 0 {
		return fmt.Errorf("%s: %w", f.Name, problem)
	}
	line := problem.Line
	problem.Line = 0 // it stands before
	return fmt.Errorf("%s:%d: %w", f.Name, line, problem)
}

// document reads a document, or an item of a list.
func (s *Set) document(file string, node *yaml.Node, notes *Notes) error {
	var content any
	if err := node.Decode(&content); err != nil {
		return fmt.Errorf("%s:%d: %w", file, node.Line, err)
	}
	fields, _ := content.(map[string]any)
	if fields == nil {
		if content == nil {
			return nil
		}
		return fmt.Errorf("%s:%d: want Stages of KWOK (apiVersion: %s, kind: Stage)", file, node.Line, version)
	}
	if _, trace := fields["pod_lifecycles"]; trace {
		return fmt.Errorf("%s:%d: this looks like a trace of SimKube in JSON: want it in MessagePack, as SimKube writes it", file, node.Line)
	}
	kind, _ := fields["kind"].(string)
	of, _ := fields["apiVersion"].(string)
	if strings.HasSuffix(kind, "List") {
		return s.items(file, node, notes)
	}
	skip := func(format string, args ...any) {
		notes.add(Note{File: file, Line: node.Line, Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case kind == "":
		return fmt.Errorf("%s:%d: a document without kind; want Stages of KWOK (apiVersion: %s, kind: Stage)", file, node.Line, version)
	case kind != "Stage" || !strings.HasPrefix(of, group+"/"):
		skip("%s of %s is not imported, only Stages are", kind, of)
		return nil
	case of != version:
		return fmt.Errorf("%s:%d: apiVersion %s; want %s", file, node.Line, of, version)
	}
	return s.stage(file, node, fields, notes)
}

func (s *Set) items(file string, node *yaml.Node, notes *Notes) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value != "items" {
			continue
		}
		for _, item := range node.Content[i+1].Content {
			if err := s.document(file, item, notes); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Set) stage(file string, node *yaml.Node, fields map[string]any, notes *Notes) error {
	data, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("%s:%d: %w", file, node.Line, err)
	}
	o := object{}
	unknown, err := kjson.UnmarshalStrict(data, &o)
	if err != nil {
		return fmt.Errorf("%s:%d: %w", file, node.Line, err)
	}
	stage := &Stage{Name: o.Name, file: file, node: node, spec: o.Spec}
	for _, u := range unknown {
		notes.Of(stage, nil, "%v: Stages of KWOK 0.8 don't have it", u)
	}
	switch ref := o.Spec.ResourceRef; {
	case ref.Kind == "Node":
		notes.Of(stage, nil, "it is about Nodes: simulated nodes register themselves, renew their Leases and are Ready as long as their program runs")
		return nil
	case ref.Kind != "Pod" || ref.APIGroup != "" && ref.APIGroup != "v1":
		notes.Of(stage, []string{"spec", "resourceRef", "kind"}, "it is about objects of kind %s: scenarios are of pods", ref.Kind)
		return nil
	case o.Spec.Selector == nil:
		notes.Of(stage, nil, "it has no selector, and so no effect in KWOK either")
		return nil
	}
	if err := stage.prepare(); err != nil {
		if left, is := errors.AsType[*unsupported](err); is {
			notes.Of(stage, left.field, "the Stage is left out: %s", left.why)
			return nil
		}
		return fmt.Errorf("%s:%d: %s: %w", file, node.Line, stage.Name, err)
	}
	s.stages = append(s.stages, stage)
	return nil
}
