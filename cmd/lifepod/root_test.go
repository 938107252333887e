package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/commandline/helpcheck"
)

// commandLine executes a command line that starts nothing.
func commandLine(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	code := 0
	root := newRootCommand(time.Now(), &code)
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err = commandline.Error(root, root.ExecuteContext(t.Context()))
	return out.String(), err
}

// Who mistypes a command, a flag or a value is told in one line what would be right.
func TestMistypedCommandLines(t *testing.T) {
	for args, want := range map[string]string{
		"describe web":           `unknown command "describe": did you mean lifepod status POD, or lifepod kubectl describe for the cluster of lifepod up?`,
		"delete pod web":         `unknown command "delete": did you mean lifepod stop POD, which ends it, lifepod rm POD, which forgets one that has ended, or lifepod kubectl delete for the cluster of lifepod up?`,
		"stats":                  `unknown command "stats": did you mean lifepod top?`,
		"run -f pod.yaml":        `unknown flag -f: name the FILE without it`,
		"run --rm --keep a":      `--rm and --keep exclude each other`,
		"run --pull newer a":     `--pull "newer": want always, missing or never`,
		"stop web --grace soon":  `--grace "soon": want a time such as 30s, 5m, 1h30m, or 30 (seconds)`,
		"stop --grace-period -1": `--grace "-1": want a time such as 30s, 5m, 1h30m, or 30 (seconds)`,
		"down --grace-period=a":  `--grace "a": want a time such as 30s, 5m, 1h30m, or 30 (seconds)`,
		"stop --time 3 web":      `unknown flag --time: did you mean --grace?`,
		"top --label a=b":        `unknown flag --label: did you mean --selector?`,
		"status --label a=b":     `unknown flag --label: lifepod status --help lists the flags`,
		"apply -f pod.yaml":      `unknown command "apply": did you mean lifepod run FILE, or lifepod kubectl apply -f FILE for the cluster of lifepod up?`,
		"get pods -A":            `unknown command "get": did you mean lifepod ps, or lifepod kubectl get for the cluster of lifepod up?`,
		"statsu web":             `unknown command "statsu": did you mean lifepod status?`,
		"log web":                `unknown command "log": did you mean lifepod logs?`,
		"frobnicate":             `unknown command "frobnicate": lifepod --help lists them`,
		"image frobnicate":       `unknown command "frobnicate": lifepod image --help lists them`,
		"run --timout 3s a":      `unknown flag --timout: did you mean --timeout?`,
		"run --frobnicate a":     `unknown flag --frobnicate: lifepod run --help lists the flags`,
		"run -z a":               `unknown flag -z: lifepod run --help lists the flags`,
		"run --timeout soon a":   `--timeout "soon": want a time such as 30s, 5m, 1h30m, or 30 (seconds)`,
		"run --timeout":          `--timeout: a value is missing: want --timeout DURATION`,
		"run":                    `no manifest: want lifepod run FILE…, or - for standard input`,
		"logs web --tail x":      `--tail "x": want a whole number`,
		"run --keep=perhaps a":   `--keep "perhaps": want true or false`,
		"status a b":             `unexpected argument "b": want lifepod status [flags] [POD]`,
		"ps a":                   `unexpected argument "a": want lifepod ps [flags]`,
		"version a":              `unexpected argument "a": want lifepod version [flags]`,
	} {
		_, err := commandLine(t, strings.Fields(args)...)
		assert.True(t, err != nil && err.Error() == want, "lifepod %s:\ngot  %v\nwant %s", args, err, want)
	}
}

func TestHelp(t *testing.T) {
	code := 0
	helpcheck.Check(t, newRootCommand(time.Now(), &code))
	helpcheck.Check(t, newPluginCommand(&code, ""))
}

// lifepod --version is lifepod version.
func TestVersion(t *testing.T) {
	flag, err := commandLine(t, "--version")
	command, err2 := commandLine(t, "version")
	assert.True(t, err == nil && err2 == nil && flag == command && strings.Contains(flag, "Kubernetes "+kubernetesLevel),
		"--version %q, %v; version %q, %v", flag, err, command, err2)
}

// A duration has a unit or is in seconds, for every flag that takes one.
func TestDurations(t *testing.T) {
	for _, text := range []string{"30", "30s", "0.5m"} {
		d, err := commandline.ParseDuration(text)
		assert.True(t, err == nil && d == 30*time.Second, "%s: %v, %v", text, d, err)
	}
	for _, text := range []string{"", "soon", "9223372036854775807", "30 s"} {
		d, err := commandline.ParseDuration(text)
		assert.True(t, err != nil, "%q: %v", text, d)
	}
	code := 0
	root := newRootCommand(time.Now(), &code)
	for _, command := range root.Commands() {
		if f := command.Flags().Lookup("timeout"); f != nil && f.Value.Set("30") != nil {
			t.Errorf("%s --timeout 30 is refused", command.Name())
		}
	}
}
