package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadInput: one clear error, exit code 125, and nothing is started.
func TestBadInput(t *testing.T) {
	t.Parallel()
	container := "containers: [{name: main, image: TOOLBOX}]\n"
	for _, tc := range []struct {
		name, manifest string
		args           []string
		want           []string
	}{
		{name: "empty", manifest: "", want: []string{"no Pod"}},
		{name: "syntax", manifest: "a: [", want: []string{"<stdin>:1", "YAML syntax"}},
		{name: "unknown-field", manifest: pod("x", "restartPolcy: Never\n"+container), want: []string{"<stdin>:6", "spec.restartPolcy", "restartPolicy"}},
		{name: "wrong-type", manifest: pod("x", "hostNetwork: maybe\n"+container), want: []string{"<stdin>:6", "spec.hostNetwork"}},
		{name: "invalid-value", manifest: pod("x", "restartPolicy: Sometimes\n"+container), want: []string{"<stdin>:6", "spec.restartPolicy", "Sometimes"}},
		{name: "image", manifest: pod("x", "containers: [{name: main, image: '${IMAGE}'}]"), want: []string{"<stdin>:6", "spec.containers[0].image", "not replaced"}},
		{name: "no-containers", manifest: pod("x", "restartPolicy: Never"), want: []string{"spec.containers"}},
		{name: "two-pods", manifest: pod("x", container) + "---\n" + pod("y", container), want: []string{"<stdin>:9", "second Pod"}},
		{name: "other-kind", manifest: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n", want: []string{"Deployment"}},
		{name: "missing-configmap", manifest: pod("x", `
containers:
- {name: main, image: TOOLBOX, envFrom: [{configMapRef: {name: absent}}]}`), want: []string{"spec.containers[0].envFrom[0]", "absent"}},
		{name: "missing-key", manifest: environmentObjects + pod("x", `
containers:
- name: main
  image: TOOLBOX
  env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: COLOUR}}}]`), want: []string{"spec.containers[0].env[0]", "COLOUR"}},
		{name: "unsupported", manifest: pod("x", `
volumes: [{name: v, nfs: {server: s, path: /}}]
containers:
- name: main
  image: TOOLBOX`), want: []string{"spec.volumes[0].nfs"}},
		{name: "port", manifest: pod("x", container), args: []string{"-p", "80"}, want: []string{"-p 80", "8080:80"}},
		{name: "output", manifest: pod("x", container), args: []string{"-o", "xml"}, want: []string{"xml", "json"}},
		{name: "no-file", args: []string{"/no/such.yaml"}, want: []string{"/no/such.yaml", "no such file"}},
		{name: "bad-name", manifest: pod("x", container), args: []string{"--name", "Not_A_Name"}, want: []string{"Not_A_Name"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			untouched := &root{dir: filepath.Join(t.TempDir(), "root")}
			got := untouched.run(t, tc.manifest, tc.args...)
			if got.code != 125 || got.stdout != "" {
				t.Errorf("exit code %d, stdout %q", got.code, got.stdout)
			}
			if strings.Count(got.stderr, "\n") != 1 || !strings.HasPrefix(got.stderr, "lifepod: ") {
				t.Errorf("not one line of error: %q", got.stderr)
			}
			for _, want := range tc.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("no %q in %s", want, got.stderr)
				}
			}
			if _, err := os.Stat(untouched.dir); err == nil {
				t.Error("the state folder was made")
			}
			for _, left := range untouched.left() {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

// TestDeadRuntime: a runtime that doesn't answer is an error, too.
func TestDeadRuntime(t *testing.T) {
	t.Parallel()
	got := shared.lifepod(t, script("x", "true"), "--runtime-endpoint", "unix:///no/such.sock", "run", "-")
	if got.code != 125 || !strings.Contains(got.stderr, "/no/such.sock") {
		t.Errorf("exit code %d, stderr %s", got.code, got.stderr)
	}
}

// TestFiles: a Pod and what it uses may be in several files, as YAML and JSON.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.json")
	if err := os.WriteFile(config, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"A":"from JSON"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pod.yaml")
	manifest := pod("files", "restartPolicy: Never\ncontainers:\n"+shell("main", "echo $A", "envFrom: [{configMapRef: {name: c}}]"))
	if err := os.WriteFile(file, []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := shared.lifepod(t, "", "run", file, config); got.code != 0 || got.stdout != "from JSON\n" {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
}
