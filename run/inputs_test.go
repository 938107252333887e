package run

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

const aPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: c, image: 'i:1', ports: [{containerPort: PORT}]}]}\n"

func podText(name, port string) string {
	return strings.NewReplacer("NAME", name, "PORT", port).Replace(aPod)
}

// Files, a folder, a URL and standard input are read together, in the order in which they are given; of a folder the
// manifests that are in it, not those of folders below.
func TestInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"all/2.json": `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "second"}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}`,
		"all/1.yaml": podText("first", "80"), "all/README.md": "no manifest", "all/below/3.yaml": podText("below", "80"), "one.yaml": podText("one", "81"),
		"none/README.md": "no manifest",
	} {
		assert.Must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		assert.Must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	assert.Must(t, os.Symlink("all", "link"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/pod.yaml" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(podText("fetched", "82")))
	}))
	defer server.Close()

	o := Options{Files: []string{"one.yaml", "all", server.URL + "/pod.yaml", "-"}, Stdin: strings.NewReader(podText("typed", "83")), Ports: []string{"8080:82"}}
	group := assert.Get(readManifests(o)).Must(t)
	var got []string
	for _, pod := range podsOf(group) {
		got = append(got, pod.Name)
	}
	assert.Deep(t, "pods", []string{"one", "first", "second", "fetched", "typed"}, got)
	all := assert.Get(Options{Recursive: true}.filesOf("link")).Must(t)
	assert.Deep(t, "files below a folder", []string{"link/1.yaml", "link/2.json", "link/below/3.yaml"}, all)
	port := group.Sets[3].Pod.Spec.Containers[0].Ports[0]
	assert.True(t, port.HostPort == 8080, "-p is not at the pod that declares the port: %+v", port)

	for want, o := range map[string]Options{
		"read manifest: the folder none has no file that ends in .yaml, .yml, .json; -R reads the folders below, too": {Files: []string{"none"}},
		"/none.yaml\": 404 Not Found": {Files: []string{server.URL + "/none.yaml"}},
		"-p 1:80: there are 2 pods, and 0 of them have port 80 as a containerPort or behind a Service: want one that does": {Files: []string{"one.yaml", "all/2.json"}, Ports: []string{"1:80"}},
		"-i: the manifests have 2 pods and 0 Jobs: want one pod":                                                           {Files: []string{"one.yaml", "all/2.json"}, Input: true},
		"read manifest: open gone.yaml: no such file":                                                                      {Files: []string{"all", "gone.yaml"}},
	} {
		assert.ErrorContains(t, want, assert.ErrorOf(readManifests(o)))
	}
}

// Each line of one of several pods says whose it is, also where both have a container of the same name.
func TestPrefix(t *testing.T) {
	named := func(name string, containers ...string) *v1.Pod {
		pod := podOf(containers...)
		pod.Namespace, pod.Name = "default", name
		return pod
	}
	one, two := named("one", "a"), named("two", "a", "b")
	for _, output := range []string{"", "json"} {
		var stdout, stderr strings.Builder
		all := newPrinter(Options{Stdout: &stdout, Stderr: &stderr, Output: output}, one, two)
		for _, pod := range []*v1.Pod{one, two} {
			p := all.of(pod, pod.Name)
			p.warn("careful")
			r := newLogReader(p, "a", nil)
			r.output(&pendingLine{source: r.stdout.source, text: []byte("text\n")}, "stdout")
		}
		all.warn("all")
		all.close()
		if output == "json" {
			for _, want := range []string{`"pod":"default/one","subject":"a"`, `"pod":"default/two","subject":"a"`, `"name":"two","pod":"default/two","message":"careful"`, `"type":"warning","message":"all"`} {
				assert.True(t, strings.Contains(stdout.String(), want), "no %s in %s", want, stdout.String())
			}
			continue
		}
		assert.Deep(t, "stdout", "one | text\ntwo/a | text\n", stdout.String())
		assert.Deep(t, "stderr", "one | warning: careful\ntwo | warning: careful\nwarning: all\n", stderr.String())
	}
}

// With -i the container that has input gets it, or the only one, with a terminal if that is wanted.
func TestGiveInput(t *testing.T) {
	for _, tc := range []struct {
		containers, want string
		terminal         bool
	}{
		{"{name: a, image: 'i:1'}", "a true true false\n", false},
		{"{name: a, image: 'i:1'}", "a true true true\n", true},
		{"{name: a, image: 'i:1'}, {name: b, image: 'i:1', stdin: true, tty: true}", "a false false false\nb true false true\n", false},
		{"{name: a, image: 'i:1'}, {name: b, image: 'i:1'}", "-i: the pod has 2 containers, and none that says stdin: true: set that for the one that you want to talk to", true},
	} {
		text := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [" + tc.containers + "]}\n"
		group, err := readManifests(Options{Files: []string{"-"}, Stdin: strings.NewReader(text), Input: true, Terminal: tc.terminal})
		got := ""
		if err != nil {
			assert.Error(t, tc.want, err)
			continue
		}
		for _, c := range podsOf(group)[0].Spec.Containers {
			got += fmt.Sprintf("%s %v %v %v\n", c.Name, c.Stdin, c.StdinOnce, c.TTY)
		}
		assert.Equal(t, tc.want, got, "%s", tc.containers)
	}
}
