package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var when = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestDebianVersion(t *testing.T) {
	for git, want := range map[string]string{
		"v1.2.0":              "1.2.0",
		"1.2.0":               "1.2.0",
		"v1.2.0-5-gabc1234":   "1.2.0+5.gabc1234",
		"v1.2.0-rc.1":         "1.2.0~rc.1",
		"v1.2.0-rc.1-5-gabc1": "1.2.0~rc.1+5.gabc1",
		"v1.2.0-dirty":        "1.2.0+dirty",
		"3c38ca0":             "0~20260102030405.3c38ca0",
		"abc1234-dirty":       "0~20260102030405.abc1234.dirty",
		"devel":               "0~20260102030405.devel",
	} {
		if got := debianVersion(git, when); got != want {
			t.Errorf("version of %s: %s, want %s", git, got, want)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"2.9", "2.34", -1}, {"2.34", "2.34", 0}, {"2.34", "2.2.5", 1}, {"2.34.1", "2.34", 1}} {
		if got := compareVersions(tc.a, tc.b); got != tc.want {
			t.Errorf("%s against %s: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// tree is a repository whose bin/lifepod is a small binary of this system.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	files, err := filepath.Abs("../files")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "packaging"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(files, filepath.Join(root, "packaging", "files")); err != nil {
		t.Fatal(err)
	}
	small, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "lifepod"), data, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestBuildTwice: the same inputs give the same bytes.
func TestBuildTwice(t *testing.T) {
	var packages [2][]byte
	root := tree(t)
	for i := range packages {
		path, err := build(root, "bin/lifepod", "v1.0.0", "1767323045")
		if err != nil {
			t.Fatal(err)
		}
		if packages[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(root, "bin", "lifepod"), when, when); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(packages[0], packages[1]) {
		t.Error("two packages of the same files differ")
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// TestContents: what dpkg finds in the package.
func TestContents(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Log("this system has no dpkg-deb: nothing is looked at")
		return
	}
	path, err := build(tree(t), "bin/lifepod", "v1.0.0", "1767323045")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(filepath.Base(path), "lifepod_1.0.0_") {
		t.Errorf("it is called %s", filepath.Base(path))
	}
	listed := output(t, "dpkg-deb", "-c", path)
	for _, want := range []string{
		"-rwxr-xr-x root/root", "./usr/bin/lifepod\n", "./usr/bin/kubectl-lifepod -> lifepod\n", "./usr/lib/systemd/system/lifepod-agent.service\n", "./usr/lib/systemd/system/lifepod-up.service\n", "./etc/default/lifepod\n",
		"./usr/share/doc/lifepod/examples/10-kubeadm.conf\n", "./usr/share/doc/lifepod/copyright\n", "./usr/share/man/man1/lifepod.1.gz\n",
		"./usr/bin/kubectl_complete-lifepod\n", "./usr/share/bash-completion/completions/lifepod\n", "./usr/share/zsh/vendor-completions/_lifepod\n", "./usr/share/fish/vendor_completions.d/lifepod.fish\n",
	} {
		if !strings.Contains(listed, want) {
			t.Errorf("%q is missing in\n%s", want, listed)
		}
	}
	if got := output(t, "dpkg-deb", "-I", path, "conffiles"); got != "/etc/default/lifepod\n" {
		t.Errorf("conffiles: %q", got)
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		if got := output(t, "dpkg-deb", "-I", path, script); !strings.HasPrefix(got, "#!/bin/sh\n") {
			t.Errorf("%s:\n%s", script, got)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	root := tree(t)
	if _, err := build(root, "bin/lifepod", "v1.0.0", "yesterday"); err == nil || !strings.Contains(err.Error(), `the time "yesterday"`) {
		t.Errorf("a time that is none: %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "lifepod"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := build(root, "bin/lifepod", "v1.0.0", "0"); err == nil || !strings.Contains(err.Error(), "which architecture") {
		t.Errorf("a binary that is none: %v", err)
	}
}
