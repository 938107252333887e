package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// lifepods are processes that serve a pod each, named namespace/name by UID.
func lifepods(t *testing.T, pods map[string]string) *Client {
	t.Helper()
	folder := t.TempDir()
	for uid, name := range pods {
		namespace, name, _ := strings.Cut(name, "/")
		list := v1.PodList{Items: []v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}}}
		serve(t, filepath.Join(folder, uid+".sock"), func(w http.ResponseWriter, _ *http.Request) {
			assert.NoError(t, json.NewEncoder(w).Encode(list))
		})
	}
	return New(folder, "/root")
}

func serve(t *testing.T, path string, handle http.HandlerFunc) {
	t.Helper()
	l := assert.Get(net.Listen("unix", path)).Must(t)
	server := &http.Server{Handler: handle, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }() // until the cleanup
	t.Cleanup(func() { _ = server.Close() })
}

func TestFind(t *testing.T) {
	pods := map[string]string{
		"1": "default/web", "2": "default/db", "3": "blue/web", "4": "blue/cache", "5": "green/twin", "6": "green/twin",
	}
	all := "blue/cache, blue/web, default/db, default/web, green/twin with UID 5, green/twin with UID 6"
	c := lifepods(t, pods)
	for _, tc := range []struct {
		name, namespace string
		want            string // the UID, or the error
	}{
		{"db", "", "2"},
		{"web", "blue", "3"},
		{"blue/web", "", "3"},
		{"pod/web", "blue", "3"},
		{"blue/web", "blue", "3"},
		{"4", "", "4"},
		{"6", "", "6"},
		{"web", "", `pod "web" is ambiguous: blue/web, default/web; name it so, or with -n`},
		{"twin", "", `pod "twin" is ambiguous: green/twin with UID 5, green/twin with UID 6`},
		{"blue/web", "default", `pod blue/web is not in namespace "default": leave -n out`},
		{"nope", "", `no pod "nope": there is ` + all},
		{"db", "blue", `no pod "db" in namespace "blue": there is ` + all},
	} {
		pod, err := c.Find(t.Context(), tc.name, tc.namespace)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = string(pod.UID)
		}
		assert.True(t, got == tc.want, "%s, -n %q:\ngot  %s\nwant %s", tc.name, tc.namespace, got, tc.want)
	}
}

func TestNoPods(t *testing.T) {
	c := New(filepath.Join(t.TempDir(), "none"), "/root")
	pods, silent, err := c.Pods(t.Context())
	assert.True(t, len(pods)+len(silent) == 0 && err == nil, "%v, %v, %v", pods, silent, err)
	_, err = c.Find(t.Context(), "web", "")
	assert.Deep(t, "", `no pod "web": no pod runs with the state folder /root`, err.Error())
}

// A lifepod that doesn't answer is told of, and does not hide the others.
func TestSilentLifepod(t *testing.T) {
	c := lifepods(t, map[string]string{"1": "default/web"})
	c.patience = 2 * time.Second                                                      // the other one answers within it, on a busy machine, too
	hung := assert.Get(net.Listen("unix", filepath.Join(c.Folder, "2.sock"))).Must(t) // nobody accepts
	t.Cleanup(func() { _ = hung.Close() })
	pods, silent, err := c.Pods(t.Context())
	assert.Require(t, len(pods) == 1 && len(silent) == 1 && err == nil, "%d pods, %v silent, %v, want one each", len(pods), silent, err)
	assert.ErrorContains(t, "2.sock does not answer", assert.ErrorOf(c.Find(t.Context(), "db", "")))
}

// A lifepod's own words are the error; without any it is the HTTP status.
func TestRefusal(t *testing.T) {
	for answer, want := range map[string]string{
		`{"kind":"Status","message":"no such thing"}`: "no such thing",
		`whatever`: "the pod's lifepod answered 409 Conflict",
	} {
		c := New(t.TempDir(), "/root")
		serve(t, filepath.Join(c.Folder, "1.sock"), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			assert.NoError(t, assert.ErrorOf(w.Write([]byte(answer))))
		})
		_, silent, err := c.Pods(t.Context())
		assert.True(t, err == nil && len(silent) == 1 && silent[0].Err.Error() == want, "%v, %v, want %q", silent, err, want)
	}
}

// A watch that breaks off is an error: the pod's lifepod was killed.
func TestWatchBreaksOff(t *testing.T) {
	c := New(t.TempDir(), "/root")
	path := filepath.Join(c.Folder, "1.sock")
	serve(t, path, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/pods" {
			_, _ = w.Write([]byte(`{"items":[{"metadata":{"namespace":"default","name":"web"}}]}`)) // else the test fails
			return
		}
		_, _ = w.Write([]byte(`{"type":"ADDED","object":{}}` + "\n"))
	})
	pod := assert.Get(c.Find(t.Context(), "web", "")).Must(t)
	assert.ErrorContains(t, "the connection was lost before the end of pod default/web", pod.Wait(t.Context()))
	assert.NoError(t, os.Remove(path))
}

// A command that is given up while the runtime hangs ends, and lets go of its
// lifepod, which ends what it has begun.
func TestExecGivenUpWithoutAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pod.sock")
	asked, gone := make(chan struct{}), make(chan struct{})
	serve(t, path, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(gone)
	})
	ctx, giveUp := context.WithCancelCause(t.Context())
	given := errors.New("Ctrl-C")
	go func() {
		<-asked
		giveUp(given)
	}()
	pod := &Pod{Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}, socket: path}
	assert.ErrorIs(t, given, assert.ErrorOf(pod.Exec(ctx, "app", []string{"true"}, Streams{Stdout: io.Discard})), "the error is")
	<-gone
}

// TestAskedAtOnce: of many sockets no more are asked at the same time than an agent has room for.
func TestAskedAtOnce(t *testing.T) {
	const pods, atOnce = 20, 3
	folder := t.TempDir()
	var now, most atomic.Int32
	for i := range pods {
		name := fmt.Sprint("web-", i)
		list := v1.PodList{Items: []v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}}}
		serve(t, filepath.Join(folder, name+".sock"), func(w http.ResponseWriter, _ *http.Request) {
			for n := now.Add(1); n > most.Load(); {
				most.Store(n)
			}
			time.Sleep(5 * time.Millisecond)
			now.Add(-1)
			assert.NoError(t, json.NewEncoder(w).Encode(list))
		})
	}
	c := New(folder, "/root")
	c.atOnce = atOnce
	list, silent, err := c.Pods(t.Context())
	assert.True(t, err == nil && len(list) == pods && len(silent) == 0, "%d pods, silent %v, %v", len(list), silent, err)
	assert.True(t, most.Load() <= atOnce, "%d were asked at the same time, want %d at most", most.Load(), atOnce)
}
