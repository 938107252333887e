package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// Files are what is to be read; - is standard input, for one of them.
type Files struct {
	Command   string // that reads them, for errors
	Manifests []string
	Scenario  string // empty: none
	Asserts   []string
	Stdin     io.Reader
}

type Input struct {
	Set      *manifest.Set
	Scenario *scenario.Scenario // nil: none
	Asserts  []sim.Assertion
}

// UID is that of simulated pods, always the same: it is part of what is printed.
const UID types.UID = "00000000-0000-4000-8000-000000000000"

var errStdinTwice = errors.New("-: standard input can be read once only: the others are to be files")

func (f Files) Read() (in Input, err error) {
	if f.stdinTwice() {
		return in, errStdinTwice
	}
	if in.Set, err = f.manifests(); err != nil {
		return in, err
	}
	for _, text := range f.Asserts {
		a, err := sim.ParseAssertion(text, in.Set.Pod)
		if err != nil {
			return in, fmt.Errorf("--assert: %w", err)
		}
		in.Asserts = append(in.Asserts, a)
	}
	if f.Scenario != "" {
		name, data, err := f.read(f.Scenario)
		if err != nil {
			return in, fmt.Errorf("read scenario: %w", err)
		}
		in.Scenario, err = file.Read(manifest.Source{Name: name, Data: data}, in.Set.Pod, in.readAsserts)
		if err != nil {
			return in, err
		}
	}
	return in, nil
}

// readAsserts reads the assertions of the scenario.
func (in *Input) readAsserts(s *scenario.Scenario, report scenario.Report) {
	for i, text := range s.Assert {
		a, err := sim.ParseAssertion(text, in.Set.Pod)
		if err != nil {
			report(fmt.Sprintf("assert[%d]", i), "", "%v", err)
		}
		in.Asserts = append(in.Asserts, a)
	}
}

// ReadEach reads each manifest as one of its own, with the same scenario and assertions.
func (f Files) ReadEach() (list []Input, err error) {
	if f.stdinTwice() {
		return nil, errStdinTwice
	}
	if f.Scenario == "-" {
		data, err := io.ReadAll(f.Stdin)
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w", err)
		}
		return f.each(func() io.Reader { return bytes.NewReader(data) })
	}
	return f.each(func() io.Reader { return f.Stdin })
}

func (f Files) each(stdin func() io.Reader) (list []Input, err error) {
	for _, name := range f.Manifests {
		one := f
		one.Manifests, one.Stdin = []string{name}, stdin()
		in, err := one.Read()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, in)
	}
	return list, nil
}

// stdinTwice says whether more than one of the files is standard input.
func (f Files) stdinTwice() bool {
	all := append(slices.Clone(f.Manifests), f.Scenario)
	first := slices.Index(all, "-")
	return first >= 0 && slices.Contains(all[first+1:], "-")
}

// manifests reads them as lifepod run does, but for what is drawn by chance there.
func (f Files) manifests() (*manifest.Set, error) {
	var sources []manifest.Source
	for _, name := range f.Manifests {
		name, data, err := f.read(name)
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		sources = append(sources, manifest.Source{Name: name, Data: data})
	}
	set, err := manifest.Read(sources, manifest.Options{Command: f.Command, Now: sim.Began})
	if err != nil {
		return nil, err
	}
	set.Pod.UID, set.Pod.Spec.NodeName = UID, "sim"
	if set.Pod.GenerateName != "" {
		set.Pod.Name = set.Pod.GenerateName + "sim00"
	}
	return set, nil
}

func (f Files) read(name string) (string, []byte, error) {
	if name == "-" {
		data, err := io.ReadAll(f.Stdin)
		return "<stdin>", data, err
	}
	data, err := os.ReadFile(name)
	return name, data, err
}
