package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
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
	item := assert.Get(json.Marshal(podList([]*v1.Pod{pod}).Items[0])).Must(t)
	_, kind, err := decode(item, nil, nil)
	assert.True(t, err == nil && kind.Kind == "Pod", "an item: %v, %v", kind, err)
}

// TestFollow: ps -w prints a pod that has changed, or that has come, when that happens, not when it would look next.
func TestFollow(t *testing.T) {
	folder := t.TempDir()
	serve := func(name string) *control.Object {
		object := control.NewObject(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}})
		server := assert.Get(control.Serve(control.Config{Folder: folder, Object: object, Log: slog.New(slog.DiscardHandler)})).Must(t)
		t.Cleanup(server.Close)
		return object
	}
	web := serve("web")
	ctx, cancel := context.WithTimeout(t.Context(), sometimes/2)
	defer cancel()
	out, in := io.Pipe()
	command := &cobra.Command{}
	command.SetContext(ctx)
	command.SetOut(in)
	go func() { _ = in.CloseWithError((&psFlags{quiet: true}).follow(command, client.New(folder, folder))) }()
	lines := bufio.NewReader(out)
	next := func(want string) {
		t.Helper()
		line, err := lines.ReadString('\n')
		assert.True(t, line == "default/"+want+"\n" && err == nil, "%q, %v, want %s", line, err, want)
	}
	next("web")
	web.Status(v1.PodStatus{Phase: v1.PodRunning})
	next("web")
	serve("db")
	next("db")
	web.Status(v1.PodStatus{Phase: v1.PodFailed})
	next("web")
}
