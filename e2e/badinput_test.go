package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestTooLargeForTheKernel: what the kernel would not execute is refused before the start, and lifepod why says which
// variable or argument that was (A-ENV-11).
func TestTooLargeForTheKernel(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 131072-len("BIG=")-1) // what the kernel takes just so
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata: {BIG: " + big + "}\n---\n"
	from := "\nenv:\n- {name: %, valueFrom: {configMapKeyRef: {name: big, key: BIG}}}"
	never := "restartPolicy: Never\ncontainers:\n"
	shared.run(t, config+pod("env-fits", never+shell("main", "echo ${#BIG}", strings.ReplaceAll(from, "%", "BIG")))).want(t, 0, "131067\n")
	for name, c := range map[string]struct{ manifest, want string }{
		"env-too-large": {config + pod("env-too-large", never+shell("main", "true", strings.ReplaceAll(from, "%", "LARGE"))), `environment variable "LARGE" needs 131074 bytes, the kernel takes 131072`},
		"arg-too-large": {pod("arg-too-large", never+shell("main", "true", "args: [name, "+big+"12345]")), "argument 4 needs 131073 bytes, the kernel takes 131072"},
	} {
		got := shared.run(t, c.manifest)
		assert.True(t, got.code == 128 && strings.Contains(got.stderr, "argument list too long: "+c.want) && got.stdout == "",
			"%s: exit code %d: %.200s %.2000s", name, got.code, got.stdout, got.stderr)
		checkWhy(t, shared.sentences(t, name), []string{"main at TIME: exit 128 StartError: argument list too long: " + c.want + " → not restarted"})
	}
}

// TestMemoryLimitTooLow: the text names the limit.
func TestMemoryLimitTooLow(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("memory-too-low", "restartPolicy: Never\ncontainers:\n"+shell("main", "true", "resources: {limits: {memory: 1Mi}}")))
	want := "memory limit too low?): the limit is 1048576 bytes"
	assert.True(t, got.code == 128 && strings.Contains(got.stderr, want), "exit code %d, want 128 and %s: %s", got.code, want, got.stderr)
}

// TestBytesOfVariables: bytes that a runtime would change are refused, with the variable's name and where it comes from,
// until the Secret is right (A-ENV-10). A file has them exactly.
func TestBytesOfVariables(t *testing.T) {
	t.Parallel()
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: raw}\ndata: {salt: Yf/+gMN6, nul: YQBi}\n---\n"
	spec := func(name string) string {
		return "restartPolicy: Never\nvolumes: [{name: v, secret: {secretName: raw}}]\ncontainers:\n" + shell("main", "base64 /v/salt", mountV+name)
	}
	for name, c := range map[string]struct{ fields, want string }{
		"bytes-of-a-key": {"\nenv: [{name: SALT, valueFrom: {secretKeyRef: {name: raw, key: salt}}}]", `environment variable "SALT" \(key "salt" of Secret "raw"\) is not UTF-8 text.*: mount it as a file`},
		"bytes-of-all":   {"\nenvFrom: [{prefix: raw_, secretRef: {name: raw}}]", `environment variable "raw_nul" \(key "nul" of Secret "raw"\) has a zero byte.*: mount it as a file`},
	} {
		run := shared.startRun(t, secret+pod(name, spec(c.fields)))
		run.await(run.stderr, "CreateContainerConfigError: "+c.want)
		run.signal(syscall.SIGTERM)
		run.wait()
	}
	shared.run(t, secret+pod("bytes-of-a-file", spec(""))).want(t, 0, "Yf/+gMN6\n")
}

// TestFilesOfOtherMachines: line ends and byte order marks of other systems make no difference; another encoding is one error.
func TestFilesOfOtherMachines(t *testing.T) {
	t.Parallel()
	unix := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: script}\ndata:\n  run.sh: |\n    set -e\n    echo one\n---\n" +
		pod("NAME", "restartPolicy: Never\nvolumes: [{name: v, configMap: {name: script}}]\ncontainers:\n"+shell("main", "base64 /v/run.sh; sh /v/run.sh", mountV))
	const mark = "\ufeff"
	for name, text := range map[string]string{
		"crlf": strings.ReplaceAll(unix, "\n", "\r\n"), "cr": strings.ReplaceAll(unix, "\n", "\r"),
		"marks": mark + strings.Replace(unix, "---\n", "---\n"+mark, 1), "joined": mark + strings.Replace(unix, "---\n", mark+"---\n", 1),
	} {
		got := shared.run(t, strings.ReplaceAll(text, "NAME", "files-"+name))
		assert.True(t, got.code == 0 && got.stdout == "c2V0IC1lCmVjaG8gb25lCg==\none\n",
			"%s: exit code %d: %s%s", name, got.code, got.stdout, got.stderr)
	}
	wide := strings.Join(strings.Split(unix, ""), "\x00") + "\x00"
	if got := shared.run(t, wide); got.code != 125 || got.stderr != "lifepod: <stdin>: the file is UTF-16 text; save it as UTF-8\n" {
		t.Errorf("UTF-16: exit code %d: %s", got.code, got.stderr)
	}
}
