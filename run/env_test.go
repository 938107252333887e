package run

import (
	"os"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

const withVariables = `
kind: Pod
apiVersion: v1
metadata: {name: "${NAME}-${ZONE:-a}"}
spec:
  initContainers: [{name: i, image: "i:${TAG}", args: ["$${TAG}"]}]
  containers: [{name: c, image: "i:1", env: [{name: URL, value: "http://$(HOST)"}, {name: LEVEL, value: info}]}]
`

func TestVariables(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TAG", "7")
	t.Setenv("SHELL_SAYS", "hello")
	for name, text := range map[string]string{
		"pod.yaml": withVariables, "file.env": "# comment\n\nLEVEL=warn\r\nHOST=of-file\n",
		"no.env": "A=1\n=2\n",
	} {
		assert.Must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	o := Options{Files: []string{"pod.yaml"}, EnvFiles: []string{"file.env"}, Env: []string{"NAME=web", "HOST=db$(A)", "SHELL_SAYS", "LEVEL=debug"}, Substitute: true}
	group := assert.Get(readManifests(o)).Must(t)
	pod := group.Sets[0].Pod
	assert.True(t, pod.Name == "web-a" && pod.Spec.InitContainers[0].Image == "i:7" && pod.Spec.InitContainers[0].Args[0] == "${TAG}",
		"substituted: %s, %+v", pod.Name, pod.Spec.InitContainers[0])
	want := []v1.EnvVar{
		{Name: "NAME", Value: "web"}, {Name: "HOST", Value: "db$$(A)"}, {Name: "SHELL_SAYS", Value: "hello"},
		{Name: "URL", Value: "http://$(HOST)"}, {Name: "LEVEL", Value: "debug"},
	}
	assert.Deep(t, "env", want, pod.Spec.Containers[0].Env)
	n := len(pod.Spec.InitContainers[0].Env)
	assert.True(t, n == 4, "the init container has %d variables", n)

	for want, o := range map[string]Options{
		`-e "=1": the name of a variable is wrong`:                                       {Env: []string{"=1"}},
		"-e NOT_SET: this environment has no such variable; want NAME=VALUE":             {Env: []string{"NOT_SET"}},
		"--env-file no.env:2: ":                                                          {EnvFiles: []string{"no.env"}},
		"--env-file: open gone.env: no such file":                                        {EnvFiles: []string{"gone.env"}},
		"pod.yaml:4: ${NAME} has no value; give it one by -e NAME=VALUE, or a default: ": {Substitute: true},
	} {
		o.Files = []string{"pod.yaml"}
		assert.ErrorContains(t, want, assert.ErrorOf(readManifests(o)))
	}
}
