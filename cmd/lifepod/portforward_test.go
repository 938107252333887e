package main

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestForwardedPort(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{}, {Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}}}
	for spec, want := range map[string]string{
		"80":       "80 80",
		"8080:80":  "8080 80",
		":http":    "0 8080",
		"0:80":     "0 80",
		"http":     "8080 8080",
		"1:htp":    `port 1:htp: "htp" is neither a port from 1 to 65535 nor one of the pod's: http`,
		"80:":      `port 80:: "" is neither a port from 1 to 65535 nor one of the pod's: http`,
		"65536:80": `port 65536:80: "65536" is not a port of this machine, want a number up to 65535, or nothing for a free one`,
	} {
		local, remote, err := forwardedPort(pod, spec)
		got := fmt.Sprint(local, " ", remote)
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, want, got, "%s", spec)
	}
	_, _, err := forwardedPort(&v1.Pod{}, "0")
	assert.Error(t, `port 0: "0" is no port from 1 to 65535, and the pod's ports have no names`, err)
}
