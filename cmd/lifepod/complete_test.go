package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/internal/assert"
)

// rootWithPods is a state folder on which lifepods serve pods, and a runtime images.
func rootWithPods(t *testing.T, pods ...*v1.Pod) string {
	t.Helper()
	root := t.TempDir()
	paths := assert.Get(bundle.Locate(root, "")).Must(t)
	folder := control.Folder(paths.RunDir)
	assert.Must(t, os.MkdirAll(folder, 0o700))
	t.Cleanup(func() { _ = os.RemoveAll(paths.RunDir) })
	for _, pod := range pods {
		l := assert.Get(net.Listen("unix", filepath.Join(folder, string(pod.UID)+".sock"))).Must(t)
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(v1.PodList{Items: []v1.Pod{*pod}}) // the client may have gone
		})}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
	}
	l := assert.Get(net.Listen("unix", paths.Socket())).Must(t)
	server := grpc.NewServer()
	runtimeapi.RegisterImageServiceServer(server, &imageService{})
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return root
}

// completions are what a shell is offered for a line.
func completions(t *testing.T, line ...string) string {
	t.Helper()
	out := assert.Get(commandLine(t, append([]string{"__complete"}, line...)...)).Must(t)
	var offered []string
	for text := range strings.Lines(out) {
		if strings.HasPrefix(text, "Completion ended") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSpace(text), "\t")
		offered = append(offered, name)
	}
	return strings.Join(offered, " ")
}

// Pods, containers, namespaces, images and values of flags are completed.
func TestCompletion(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	web := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "setup"}, {Name: "proxy", RestartPolicy: &always}},
		Containers:     []v1.Container{{Name: "app"}, {Name: "worker"}},
		ReadinessGates: []v1.PodReadinessGate{{ConditionType: "example.com/warm"}},
	}}
	web.Namespace, web.Name, web.UID = "default", "web", "1"
	blue, other := web.DeepCopy(), web.DeepCopy()
	blue.Namespace, blue.UID = "blue", "2"
	other.Name, other.UID = "other", "3"
	root := rootWithPods(t, web, blue, other)
	const none, files, folders = ":4", ":0", ":16" // what the shell may do beside
	for line, want := range map[string]string{
		"stop ":                     "blue/web other default/web " + none,
		"stop -n blue ":             "web " + none,
		"stop other ":               none,
		"logs other -c ":            "app worker setup proxy " + none,
		"restart other -c ":         "app worker proxy " + none,
		"exec other --container ":   "app worker setup proxy " + none,
		"debug other --target ":     "app worker setup proxy " + none,
		"debug other --image ":      "docker.io/library/app:1 localhost:5000/app:latest " + none,
		"image rm ":                 "docker.io/library/app:1 localhost:5000/app:latest " + none,
		"ps -n ":                    "blue default " + none,
		"ps -o ":                    "wide name yaml json jsonpath= go-template= " + none,
		"ps -o j":                   "json jsonpath= " + none,
		"status -o jsonp":           "jsonpath= :6", // no space behind it
		"logs other ":               "app worker setup proxy " + none,
		"wait --for ":               "condition=Ready delete jsonpath={.status.phase}=Succeeded " + none,
		"explain A-GATE-":           "A-GATE-1 A-GATE-2 A-GATE-3 " + none,
		"run -o ":                   "json " + none,
		"run ":                      "yaml yml json :8",
		"run --timeout ":            none,
		"run --log-level ":          "debug info warn error " + none,
		"run --runtime ":            "runc crun " + none,
		"run --root ":               folders,
		"image load ":               files,
		"image pull --secret-file ": files,
		"agent --config-dir ":       folders,
		"agent --config ":           files,
		"condition other ":          "example.com/warm=True example.com/warm=False example.com/warm=Unknown " + none,
		"image ":                    "inspect load ls prune pull rm save tag " + none,
		"ps ":                       none,
	} {
		words := append([]string{"--root", root}, strings.Split(line, " ")...)
		assert.Deep(t, fmt.Sprintf("%q", line), want, completions(t, words...))
	}
}

// Every flag of every command is completed, by what is known of it, or by nothing.
func TestEveryFlagIsCompleted(t *testing.T) {
	code := 0
	files := map[string]bool{
		"kubeconfig": true, "bootstrap-kubeconfig": true, "config": true, "manifests": true,
		"image-credential-provider-config": true, "secret-file": true, "scenario": true, "node-scenario": true,
		"tls-cert-file": true, "tls-private-key-file": true, "env-file": true,
	}
	var visit func(*cobra.Command)
	visit = func(command *cobra.Command) {
		command.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, found := command.GetFlagCompletionFunc(f.Name); !found && !files[f.Name] && f.Name != "help" && f.Value.Type() != "bool" {
				t.Errorf("%s --%s: no completion", command.CommandPath(), f.Name)
			}
		})
		for _, below := range command.Commands() {
			visit(below)
		}
	}
	visit(newRootCommand(time.Now(), &code))
}
