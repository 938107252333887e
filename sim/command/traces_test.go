package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const nightly = "../../docs/sim/nightly.sktrace"

// A trace becomes scenarios and objects in a new folder, and the flags that give pods their scenarios.
func TestImportTrace(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "it's new")
	stdout, stderr, code := simulate(t, "import", "--out", folder, nightly)
	shell := strings.ReplaceAll(folder, "'", `'\''`)
	want := "--scenario 'default/report-*=" + shell + "/default-report.yaml' \\\n--scenario 'default/web-*=" + shell + "/default-web.yaml'\n"
	if code != 0 || stdout != want || !strings.Contains(stderr, "nightly.sktrace: index: not imported") {
		t.Errorf("exit code %d, want 0 and %q, prints %q, says %q", code, want, stdout, stderr)
	}
	for _, name := range []string{"default-report.yaml", "default-web.yaml", "objects/0001-apply.yaml", "objects/0003-delete.yaml", "objects/times.txt"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}

	// A pod of the Job takes as long as one in the trace: it ends with its longest container.
	pod := write(t, `apiVersion: v1
kind: Pod
metadata: {name: report-x}
spec:
  restartPolicy: Never
  initContainers: [{name: fetch, image: example.com/fetch}]
  containers: [{name: report, image: example.com/report}, {name: upload, image: example.com/upload}]
`)
	stdout, stderr, code = simulate(t, pod, "--scenario", filepath.Join(folder, "default-report.yaml"), "--runs", "50", "--assert", "Succeeded within 140s")
	if code != 0 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}

	_, stderr, code = simulate(t, "import", "--out", folder, nightly)
	if code != ExitError || !strings.Contains(stderr, "new is not empty") {
		t.Errorf("a folder that is not empty: exit code %d, says %q", code, stderr)
	}
}

// What can't be imported of a trace, or with one, is one clear error, and writes nothing.
func TestImportTraceRefuses(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "it.sktrace")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	of := func(args ...string) []string { return append([]string{"import"}, args...) }
	nothing := "\x85\xa7version\x02\xa6config\x80\xa6events\x90\xa5index\x80\xaepod_lifecycles\x80"
	for says, args := range map[string][]string{
		"want --out with a folder":                            of(nightly),
		"want one trace of SimKube, and no other":             of("-o", folder, nightly, nightly),
		"--pod, --owner and --without are for Stages of KWOK": of("-o", folder, "--owner", "Job", nightly),
		"byte 0: the file is truncated":                       of("-o", folder, file("\xde")),
		"byte 10: version 1: want version 2":                  of("-o", folder, file("\x85\xa7version\x01")),
	} {
		if stdout, stderr, code := simulate(t, args...); !strings.Contains(stderr, says) || code != ExitError || stdout != "" {
			t.Errorf("%v: exit code %d, want %d, and %q, says %q", args, code, ExitError, says, stderr)
		}
	}
	if stdout, stderr, code := simulate(t, of("-o", folder, file(nothing))...); !strings.Contains(stderr, "there is nothing to import") || code != ExitNothing || stdout != "" {
		t.Errorf("nothing: exit code %d, says %q", code, stderr)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("a folder was made")
	}
}
