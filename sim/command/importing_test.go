package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What can't be imported is one clear error.
func TestImportRefuses(t *testing.T) {
	pod := write(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: example.com/main:1}]}\n")
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "stages.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	stage := func(spec string) string {
		return "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: it}\nspec:\n  resourceRef: {apiGroup: v1, kind: Pod}\n" + spec
	}
	all := "  selector: {}\n"
	for _, c := range []struct {
		text, says string
		code       int
	}{
		{"\x95\xc4\x01", "the file is not text; want Stages of KWOK in YAML, or a trace of SimKube 2, which is a map in MessagePack", ExitError},
		{`{"version": 2, "events": [], "pod_lifecycles": {}}`, "this looks like a trace of SimKube in JSON: want it in MessagePack, as SimKube writes it", ExitError},
		{"a: [", ":1: YAML syntax: did not find expected node content", ExitError},
		{"just text", ":1: want Stages of KWOK (apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage)", ExitError},
		{"a: b", ":1: a document without kind", ExitError},
		{"apiVersion: kwok.x-k8s.io/v1alpha2\nkind: Stage\n", ":1: apiVersion kwok.x-k8s.io/v1alpha2; want kwok.x-k8s.io/v1alpha1", ExitError},
		{stage(all + "  weight: heavy\n"), ":1: json: cannot unmarshal string into Go struct field", ExitError},
		{stage("  selector: {matchExpressions: [{key: '.a[', operator: Exists}]}\n"), `it: jq expression ".a["`, ExitError},
		{stage("  selector: {matchExpressions: [{key: .a, operator: Has}]}\n"), `it: operator "Has": want In, NotIn, Exists or DoesNotExist`, ExitError},
		{stage(all + "  next:\n    statusTemplate: '{{ env \"HOME\" }}'\n"), `8: it: spec.next.statusTemplate: template: template:1: function "env" not defined`, ExitError},
		{stage(all + "  next:\n    patches: [{root: status, subresource: status, template: 'phase: {}'}]\n"), ":8: it: spec.next.patches[0]: json: cannot unmarshal object", ExitError},
		{"", "lifepod: no Stage applies to the pod: there is nothing to import", ExitNothing},
		{stage("  selector: {matchLabels: {a: b}}\n"), "lifepod: no Stage applies to the pod: there is nothing to import", ExitNothing},
	} {
		stdout, stderr, code := simulate(t, "import", "--pod", pod, file(c.text))
		if !strings.Contains(stderr, c.says) || code != c.code || stdout != "" {
			t.Errorf("%q: exit code %d, want %d, and %q, says %q, writes %q", c.text, code, c.code, c.says, stderr, stdout)
		}
	}
	for says, args := range map[string][]string{
		"want --pod with its manifest":                    {"import", pod},
		"no Stages: want lifepod sim import":              {"import", "--pod", pod},
		"standard input can be read once only":            {"import", "--pod", "-", "-"},
		"there is no Stage itt of pods; did you mean it?": {"import", "--pod", pod, "--without", "itt", file(stage(all))},
		"read what is to be imported: open none.yaml":     {"import", "--pod", pod, "none.yaml"},
	} {
		if stdout, stderr, code := simulate(t, args...); !strings.Contains(stderr, says) || code != ExitError || stdout != "" {
			t.Errorf("%v: exit code %d, want %d, and %q, says %q", args, code, ExitError, says, stderr)
		}
	}
}
