package scenario_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

const (
	header = "apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\n"
	// aPod has a container with all that a scenario can be about, and one with nothing.
	aPod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  restartPolicy: OnFailure
  initContainers:
  - {name: setup, image: example.com/setup:1, imagePullPolicy: Never}
  containers:
  - name: main
    image: example.com/web:1
    readinessProbe: {tcpSocket: {port: 80}}
    livenessProbe: {tcpSocket: {port: 80}}
    lifecycle: {preStop: {exec: {command: [wait]}}}
  - {name: plain, image: 'lifepod.dev/toolbox:1'}
  - {name: fresh, image: 'lifepod.dev/fresh:1', imagePullPolicy: Always}
`
	noTime = "should be a duration such as 30s, or a distribution of them: exp(30s), uniform(1s,5s), weibull(1.5,30s); forever"
)

// mistake is something wrong that a scenario says. It is in one line, the third of its file.
type mistake struct {
	says string
	want string // the error: the field, what is wrong with it, and what would be right
	// beyond says that the schema can't know: that takes the pod, or what else the scenario says.
	beyond bool
}

var mistakes = []mistake{
	// what is missing, negative or empty
	{says: "refuse: {}", want: "refuse.reason: missing"},
	{says: "refuse: {reason: ''}", want: "refuse.reason: is empty; should be one such as OutOfcpu"},
	{says: "containers: {main: {}}", want: "containers[main].runs: missing"},
	{says: "containers: {main: {runs: []}}", want: "containers[main]: says nothing; should have runs, one for each instance"},
	{says: "containers: {main: {runs: [{output: [{}]}]}}", want: "containers[main].runs[0].output[0].text: missing"},
	{says: "containers: {main: {runs: [{output: [{text: x, stream: sdterr}]}]}}", want: `containers[main].runs[0].output[0].stream: unknown value "sdterr"; did you mean stderr?`},
	{says: "containers: {main: {runs: [{probes: {}}]}}", want: "containers[main].runs[0].probes: says nothing; should have answers of startup, liveness or readiness"},
	{says: "containers: {main: {runs: [{probes: {liveness: [{from: 1s}]}}]}}", want: "containers[main].runs[0].probes.liveness[0].answer: missing"},
	{says: "containers: {main: {runs: [{hooks: {}}]}}", want: "containers[main].runs[0].hooks: says nothing; should say postStart, preStop or both"},
	{says: "containers: {main: {runs: [{hooks: {preStop: {}}}]}}", want: "containers[main].runs[0].hooks.preStop: says nothing; should say takes, fail or both"},
	{says: "containers: {main: {runs: [{stop: {}}]}}", want: "containers[main].runs[0].stop: says nothing; should say after, exit or ignore"},
	{says: "containers: {main: {runs: [{exit: 256}]}}", want: "containers[main].runs[0].exit: is 256; should be 0 to 255"},
	{says: "images: {'example.com/web:1': {}}", want: "images[example.com/web:1]: says nothing; should say present, pull, bytes or failures"},
	{says: "images: {'example.com/web:1': {bytes: -1}}", want: "images[example.com/web:1].bytes: is -1; should be 0 or more"},
	{says: "images: {'example.com/web:1': {failures: -1}}", want: "images[example.com/web:1].failures: is -1; should be 0 or more"},
	{says: "calls: [{fail: broken}]", want: "calls[0].call: missing"},
	{says: "calls: [{call: CreateSandbox}]", want: "calls[0]: changes nothing; should say takes, fail or hang"},
	{says: "calls: [{call: CreateSandbox, takes: 1s, times: -1}]", want: "calls[0].times: is -1; should be 0 or more"},
	{says: "events: [{delete: {}}]", want: "events[0].at: missing; " + noTime},
	{says: "events: [{at: 1s}]", want: "events[0]: says 0 things that happen; should say one thing, such as delete: {}"},
	{says: "events: [{at: 1s, delete: {}, kill: {}}]", want: "events[0]: says 2 things that happen; should say one thing, such as delete: {}"},
	{says: "events: [{at: 1s, delete: {graceSeconds: -1}}]", want: "events[0].delete.graceSeconds: is -1; should be 0 or more"},
	{says: "events: [{at: 1s, evict: {graceSeconds: -5}}]", want: "events[0].evict.graceSeconds: is -5; should be 0 or more"},
	{says: "events: [{at: 1s, setClock: {}}]", want: "events[0].setClock.by: missing; should be a duration such as 1h or -30s"},
	{says: "events: [{at: 1s, setClock: {by: 0s}}]", want: "events[0].setClock.by: does not change the clock; should be how far, such as 1h or -30s", beyond: true},
	{says: "events: [{at: 1s, resize: {container: main}}]", want: "events[0].resize: asks for nothing; should say requests, limits or both"},
	{says: "events: [{at: 1s, addContainer: {name: debug}}]", want: "events[0].addContainer.image: missing"},

	// containers that are added, as an API server sees them (A-ACT-5)
	{
		says: "events: [{at: 5s, addContainer: {name: debug, image: 'busybox:1', target: mian}}]",
		want: "events[0].addContainer.target: the pod has no container mian; did you mean main?", beyond: true,
	},
	{
		says: "events: [{at: 5s, addContainer: {name: one, image: 'busybox:1'}}, {at: 6s, addContainer: {name: two, image: 'busybox:1', target: one}}]",
		want: "events[1].addContainer.target: the pod has no container one; there are setup, main, plain, fresh", beyond: true,
	},
	{
		says: "events: [{at: 5s, addContainer: {name: main, image: 'busybox:1'}}]",
		want: `events[0].addContainer.name: Duplicate value: "main"`, beyond: true,
	},
	{
		says: "events: [{at: 5s, addContainer: {name: debug, image: 'busybox:1'}}, {at: 6s, addContainer: {name: debug, image: 'busybox:1'}}]",
		want: `events[1].addContainer.name: Duplicate value: "debug"`, beyond: true,
	},
	{says: "events: [{at: 5s, addContainer: {name: Bad_Name, image: 'busybox:1'}}]", want: `events[0].addContainer.name: Invalid value: "Bad_Name": `},
	{says: "events: [{at: 5s, addContainer: {name: debug, image: ''}}]", want: "events[0].addContainer.image: "},

	// what would have no effect
	{
		says: "refuse: {reason: OutOfcpu}\nevents: [{at: 1s, delete: {}}]",
		want: "refuse: nothing happens to a pod that the node refuses; should be without containers, images, calls and events", beyond: true,
	},
	{
		says: "containers: {main: {runs: [{startError: no such file, run: 1s}]}}",
		want: "containers[main].runs[0].startError: a process that can't be started does nothing else; should be alone, or with start", beyond: true,
	},
	{
		says: "containers: {main: {runs: [{exit: 1, oom: true}]}}",
		want: "containers[main].runs[0]: exit, signal and oom exclude each other; should be one of them", beyond: true,
	},
	{
		says: "containers: {main: {runs: [{run: forever, exit: 1}]}}",
		want: "containers[main].runs[0].run: a process that runs for ever does not end by itself; should be how long it runs, or without exit, signal, oom and message", beyond: true,
	},
	{
		says: "containers: {main: {runs: [{run: forever, message: done}]}}",
		want: "containers[main].runs[0].run: a process that runs for ever does not end by itself; ", beyond: true,
	},
	{says: "containers: {main: {runs: [{output: [{at: forever, text: x}]}]}}", want: "containers[main].runs[0].output[0].at: never comes; should be a time that comes"},
	{
		says: "containers: {main: {runs: [{run: 5s, output: [{at: 6s, text: x}]}]}}",
		want: "containers[main].runs[0].output[0].at: the process has ended by then; should be at most 5s", beyond: true,
	},
	{
		says: "containers: {main: {runs: [{exit: 1, output: [{at: 2s, text: x}]}]}}",
		want: "containers[main].runs[0].output[0].at: the process has ended by then; should be at most 1s", beyond: true,
	},
	{
		says: "containers: {main: {runs: [{probes: {liveness: [{from: 10s, answer: success}, {from: 3s, answer: failure}]}}]}}",
		want: "containers[main].runs[0].probes.liveness[1].from: is no later than the answer before it, which is then never given; should be in the order of time", beyond: true,
	},
	{
		says: "containers: {main: {runs: [{probes: {liveness: [{answer: success}, {answer: failure}]}}]}}",
		want: "containers[main].runs[0].probes.liveness[1].from: is no later than the answer before it, ", beyond: true,
	},
	{
		says: "containers: {main: {runs: [{run: 5s, probes: {liveness: [{from: 6s, answer: failure}]}}]}}",
		want: "containers[main].runs[0].probes.liveness[0].from: the process has ended by then; should be at most 5s", beyond: true,
	},
	{says: "containers: {main: {runs: [{probes: {liveness: [{from: forever, answer: failure}]}}]}}", want: "containers[main].runs[0].probes.liveness[0].from: never comes"},
	{says: "containers: {main: {runs: [{probes: {startup: [{answer: failure}]}}]}}", want: "containers[main].runs[0].probes.startup: the container has no such probe", beyond: true},
	{says: "containers: {plain: {runs: [{ready: 1s}]}}", want: "containers[plain].runs[0].ready: container plain has no readinessProbe", beyond: true},
	{says: "containers: {main: {runs: [{hooks: {postStart: {takes: 1s}}}]}}", want: "containers[main].runs[0].hooks.postStart: the container has no such hook", beyond: true},
	{
		says: "containers: {main: {runs: [{hooks: {preStop: {takes: forever, fail: broken}}}]}}",
		want: "containers[main].runs[0].hooks.preStop: a hook that takes for ever does not fail by itself; should be one of them", beyond: true,
	},
	{says: "containers: {main: {runs: [{stop: {ignore: true, exit: 0}}]}}", want: "containers[main].runs[0].stop: a process that runs on at the stop signal does not end by it; should be one of them", beyond: true},
	{says: "containers: {main: {runs: [{stop: {after: forever, exit: 0}}]}}", want: "containers[main].runs[0].stop: a process that runs on at the stop signal does not end by it; should be one of them", beyond: true},
	{says: "images: {'lifepod.dev/toolbox:1': {failures: 3}}", want: "images[lifepod.dev/toolbox:1].failures: nobody pulls an image that is present; should be with present: false, or be of a pod with imagePullPolicy: Always", beyond: true},
	{says: "images: {'example.com/web:1': {present: true, pull: 3s}}", want: "images[example.com/web:1].pull: nobody pulls an image that is present; ", beyond: true},
	{says: "images: {'example.com/setup:1': {pull: 3s}}", want: "images[example.com/setup:1].pull: nobody pulls it: the pod's imagePullPolicy is Never", beyond: true},
	{says: "images: {'example.com/web:1': {error: no route to host}}", want: "images[example.com/web:1].error: no pull fails; should be with failures, which is how many pulls fail"},
	{says: "images: {'example.com/wbe:1': {pull: 3s}}", want: "images[example.com/wbe:1]: the pod has no image example.com/wbe:1; did you mean example.com/web:1?", beyond: true},
	{
		says: "calls: [{call: CreateSandbox, container: main, takes: 1s}]",
		want: "calls[0].container: CreateSandbox is a call of the pod; calls of containers are CreateContainer, InspectImage, Probe, PullImage, RemoveContainer, RunHook, StartContainer, StopContainer", beyond: true,
	},
	{says: "calls: [{call: Probe, container: plain, hang: true}]", want: "calls[0].call: there is no probe", beyond: true},
	{says: "calls: [{call: RunHook, container: plain, hang: true}]", want: "calls[0].call: there is no hook", beyond: true},
	{says: "calls: [{call: PrepareClaims, takes: 1s}]", want: "calls[0].call: the pod has no resource claims", beyond: true},
	{says: "calls: [{call: CreateSandbox, takes: 1s, from: 10s, until: 5s}]", want: "calls[0].until: no call is in between; should be later than 10s", beyond: true},
	{says: "calls: [{call: CreateSandbox, takes: 1s, from: forever}]", want: "calls[0].from: never comes; should be a time that comes"},
	{
		says: "calls: [{call: StartContainer, takes: 1s}, {call: StartContainer, container: main, times: 1, fail: broken}]",
		want: "calls[1]: never counts: calls[0] fits each of these calls, and the first that fits counts; should be before it", beyond: true,
	},
	{says: "events: [{at: forever, delete: {}}]", want: "events[0].at: never comes; should be a time that comes"},

	// what can't be read
	{says: "containers: {main: {runs: [{run: exp(3)}]}}", want: `containers[main].runs[0].run: "exp(3)" cannot be read: 3 has no unit, as 3s and 3m have; ` + noTime, beyond: true},
	{says: "containers: {main: {runs: [{run: 'uniform(5s,1s)'}]}}", want: `containers[main].runs[0].run: "uniform(5s,1s)" cannot be read: the bounds are reversed: 5s is longer than 1s; ` + noTime, beyond: true},
	{says: "containers: {main: {runs: [{run: exp(1000000h)}]}}", want: `containers[main].runs[0].run: "exp(1000000h)" cannot be read: 1000000h is longer than 87600h, the longest; ` + noTime, beyond: true},
	{says: "containers: {main: {runs: [{run: soon}]}}", want: `containers[main].runs[0].run: "soon" cannot be read; ` + noTime},
	{says: "containers: {main: {runs: [{run: 3}]}}", want: "containers[main].runs[0].run: is a number (3); " + noTime},
	{says: "containers: {main: {runs: [{signal: KILL}]}}", want: `containers[main].runs[0].signal: unknown value "KILL"; did you mean SIGKILL?`},
	{says: "containers: {main: {runs: [{signal: int}]}}", want: `containers[main].runs[0].signal: unknown value "int"; did you mean SIGINT?`},
	{says: "calls: [{call: CreateContaner, fail: broken}]", want: `calls[0].call: unknown value "CreateContaner"; did you mean CreateContainer?`},
}

func read(t *testing.T, says string, pod *v1.Pod) string {
	t.Helper()
	if _, err := file.Read(manifest.Source{Name: "s.yaml", Data: []byte(header + says + "\n")}, pod); err != nil {
		return err.Error()
	}
	return ""
}

func podOf(t *testing.T) *v1.Pod {
	t.Helper()
	set := assert.Get(manifest.Read([]manifest.Source{{Name: "pod.yaml", Data: []byte(aPod)}}, manifest.Options{})).Must(t)
	return set.Pod
}

// A mistake is one clear error, with its line and what would be right. The schema finds it as well, unless it can't know.
func TestFileMistakes(t *testing.T) {
	pod, schema := podOf(t), schemaOf(t)
	for _, m := range mistakes {
		got := read(t, m.says, pod)
		want := "scenario: s.yaml:3: " + m.want
		assert.True(t, strings.HasPrefix(got, want) && !strings.Contains(got, "\n"), "%s\ngives %s\nwant  %s", m.says, got, want)
		refused := refuses(t, schema, header+m.says)
		assert.True(t, refused != m.beyond, "%s\nthe schema refuses it: %t, want %t", m.says, refused, !m.beyond)
	}
}

// What has an effect is accepted, by the schema, too.
func TestFileNoMistakes(t *testing.T) {
	pod, schema := podOf(t), schemaOf(t)
	for _, says := range []string{
		"refuse: {reason: OutOfcpu}",
		"containers: {main: {runs: [{}, {start: 1s, startError: no such file}, {run: forever, ready: forever}]}}",
		"containers: {main: {runs: [{run: exp(3s), exit: 1, output: [{at: 1h, text: ''}]}]}}",
		"containers: {main: {runs: [{run: 5s, message: done, output: [{at: 5s, text: x}]}]}}",
		"containers: {main: {runs: [{probes: {liveness: [{answer: success}, {from: exp(1m), answer: failure}, {from: 3s, answer: error}]}}]}}",
		"containers: {main: {runs: [{probes: {readiness: [{from: 'uniform(2s,4s)', answer: success}, {from: 'uniform(3s,5s)', answer: failure}]}}]}}",
		"containers: {main: {runs: [{hooks: {preStop: {takes: forever}}, stop: {ignore: true}}, {stop: {after: 1s, exit: 0}}]}}",
		"images: {'example.com/web:1': {failures: 2, error: no route to host, pull: 2s, bytes: 0}, 'lifepod.dev/fresh:1': {failures: 1, pull: 1s}}",
		"images: {'lifepod.dev/toolbox:1': {present: false, failures: 1}, 'example.com/setup:1': {present: true}}",
		"images: {'example.com/debug:1': {failures: 1}}\nevents: [{at: 1s, addContainer: {name: debug, image: 'example.com/debug:1', target: main}}]\ncontainers: {debug: {runs: [{run: 3s}]}}",
		"calls: [{call: StartContainer, container: main, times: 1, fail: broken}, {call: StartContainer, takes: 1s}, {call: Probe, hang: true, from: 1s, until: 5s}]",
		"events: [{at: exp(1m), delete: {graceSeconds: 0}}, {at: 0s, agentCrash: {for: forever}}, {at: 1s, setClock: {by: -1h}}]",
	} {
		got := read(t, says, pod)
		assert.True(t, got == "", "%s\ngives %s", says, got)
		assert.True(t, !refuses(t, schema, header+says), "%s\nis refused by the schema", says)
	}
}

// Every scenario of the examples and the documentation is one to the schema as well.
func TestExamplesFitTheSchema(t *testing.T) {
	schema := schemaOf(t)
	for pattern, least := range map[string]int{"../../examples/scenarios/*.yaml": 12, "../../docs/sim/resizes.yaml": 1} {
		files, err := filepath.Glob(pattern)
		assert.Require(t, err == nil && len(files) >= least, "%s: %d files, %v", pattern, len(files), err)
		for _, path := range files {
			text := assert.Get(os.ReadFile(path)).Must(t)
			_, err := file.ReadForAny(manifest.Source{Name: path, Data: text})
			assert.True(t, err == nil && !refuses(t, schema, string(text)), "%s: %v, or the schema refuses it", path, err)
		}
	}
}

// refuses says whether the schema does not allow a scenario.
func refuses(t *testing.T, schema *validate.SchemaValidator, text string) bool {
	t.Helper()
	var value any
	assert.Must(t, yaml.Unmarshal([]byte(text), &value))
	return schema.Validate(value).HasErrors()
}

// schemaOf is the JSON schema, in the older form that the library knows.
func schemaOf(t *testing.T) *validate.SchemaValidator {
	t.Helper()
	var whole map[string]any
	assert.Must(t, json.Unmarshal([]byte(scenario.Schema), &whole))
	defs, is := whole["$defs"].(map[string]any)
	assert.Require(t, is, "the schema has no definitions")
	delete(whole, "$defs")
	text := assert.Get(json.Marshal(olderForm(whole, defs))).Must(t)
	schema := &spec.Schema{}
	assert.Must(t, json.Unmarshal(text, schema))
	return validate.NewSchemaValidator(schema, nil, "", strfmt.Default)
}

// olderForm puts definitions where they are referred to, and gives keywords the names that they had before draft 6.
func olderForm(v any, defs map[string]any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = olderForm(v[i], defs)
		}
		return list
	case map[string]any:
		all := map[string]any{}
		if ref, refers := v["$ref"].(string); refers {
			of, _ := olderForm(defs[strings.TrimPrefix(ref, "#/$defs/")], defs).(map[string]any)
			maps.Copy(all, of)
		}
		for key, value := range v {
			switch key {
			case "$ref", "$schema", "$id":
			case "const":
				all["enum"] = []any{value}
			case "dependentRequired":
				all["dependencies"] = value
			default:
				all[key] = olderForm(value, defs)
			}
		}
		return all
	}
	return v
}
