package main

import (
	"bytes"
	"encoding/json"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestPodList: what ps -o json and yaml print is of the API's own type, also each pod of it; and a list without pods is one.
func TestPodList(t *testing.T) {
	decode := scheme.Codecs.UniversalDeserializer().Decode
	pod := control.NewObject(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}).Pod()
	for _, output := range []string{"json", "yaml"} {
		for _, pods := range [][]*v1.Pod{nil, {pod}} {
			var out bytes.Buffer
			assert.Must(t, (&psFlags{output: output}).printObjects(&out, pods))
			object, kind, err := decode(out.Bytes(), nil, nil)
			assert.Must(t, err)
			assert.Deep(t, output, podList(pods), object)
			assert.Equal(t, "/v1, Kind=PodList", kind.String(), "%s", output)
		}
	}
	item, err := json.Marshal(podList([]*v1.Pod{pod}).Items[0])
	assert.Must(t, err)
	_, kind, err := decode(item, nil, nil)
	assert.True(t, err == nil && kind.Kind == "Pod", "an item: %v, %v", kind, err)
}
