package publish

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/internal/assert"
)

var podResource = schema.GroupResource{Resource: "pods"}

// fault is what happens to a request instead of being answered well.
type fault struct {
	pod   string        // the one it hits; any if empty
	verb  string        // GET, PATCH or DELETE; any if empty
	times int           // how often; for ever if negative
	delay time.Duration // before anything is done
	lose  bool          // it is carried out, but the answer is lost
	err   error         // refused with this, or not answered if it is no API status
}

var errRefusedConnection = errors.New("connect: connection refused")

// fakeAPI is an API server with pods, as a client's transport: it does what the
// real one does with status patches and deletions, and what faults tell it to.
type fakeAPI struct {
	mu       sync.Mutex
	pods     map[string]*v1.Pod // by name; all are in namespace default
	version  int
	latency  time.Duration
	faults   []fault
	requests []string                  // "PATCH web"
	written  map[string][]v1.PodStatus // every status that a PATCH has made, by name
	patches  []string
	underWay map[string]int      // requests, by name
	atOnce   int                 // the most of them for one pod
	takes    func(*v1.PodStatus) // what an older server drops
	changed  func(*v1.Pod)       // the watch
}

func newFakeAPI() *fakeAPI {
	return &fakeAPI{pods: map[string]*v1.Pod{}, written: map[string][]v1.PodStatus{}, underWay: map[string]int{}}
}

func clientOver(t testing.TB, transport http.RoundTripper) kubernetes.Interface {
	t.Helper()
	return assert.Get(kubernetes.NewForConfig(&rest.Config{Host: "http://api", Transport: transport, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})).Must(t)
}

// put makes or changes an object as somebody else would, and returns it.
func (a *fakeAPI) put(pod *v1.Pod) *v1.Pod {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.store(pod.DeepCopy())
}

func (a *fakeAPI) store(pod *v1.Pod) *v1.Pod {
	a.version++
	pod.ResourceVersion = strconv.Itoa(a.version)
	a.pods[pod.Name] = pod
	if a.changed != nil {
		a.changed(pod)
	}
	return pod
}

func (a *fakeAPI) get(name string) *v1.Pod {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pods[name]
}

func (a *fakeAPI) remove(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pods, name)
}

func (a *fakeAPI) fail(faults ...fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = faults
}

// count is how many requests of a kind there were, e.g. "PATCH".
func (a *fakeAPI) count(prefix string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.requests {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

func (a *fakeAPI) history(name string) []v1.PodStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.written[name]
}

// RoundTrip implements http.RoundTripper.
func (a *fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/default/pods/"), "/")
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	f := a.arrive(r.Method, parts[0])
	defer a.leave(parts[0])
	if f.delay += a.latency; f.delay > 0 {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(f.delay):
		}
	}
	if f.err != nil && !f.lose {
		return reply(nil, f.err)
	}
	pod, err := a.handle(r.Method, parts[0], body)
	if f.lose {
		return nil, io.ErrUnexpectedEOF
	}
	return reply(pod, err)
}

// arrive notes a request and says what happens to it.
func (a *fakeAPI) arrive(verb, name string) fault {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, verb+" "+name)
	a.underWay[name]++
	a.atOnce = max(a.atOnce, a.underWay[name])
	for i := range a.faults {
		f := &a.faults[i]
		if f.times != 0 && (f.pod == "" || f.pod == name) && (f.verb == "" || f.verb == verb) {
			f.times--
			return *f
		}
	}
	return fault{}
}

func (a *fakeAPI) leave(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.underWay[name]--
}

func (a *fakeAPI) handle(verb, name string, body []byte) (*v1.Pod, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pod := a.pods[name]
	if pod == nil {
		return nil, apierrors.NewNotFound(podResource, name)
	}
	switch verb {
	case http.MethodPatch:
		return a.patchStatus(pod, body)
	case http.MethodDelete:
		return a.delete(pod, body)
	}
	return pod, nil
}

func (a *fakeAPI) patchStatus(pod *v1.Pod, patch []byte) (*v1.Pod, error) {
	a.patches = append(a.patches, string(patch))
	before, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, v1.Pod{})
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	changed := &v1.Pod{}
	if err := json.Unmarshal(after, changed); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if changed.UID != pod.UID {
		return nil, apierrors.NewConflict(podResource, pod.Name, fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", changed.UID, pod.UID))
	}
	if changed.Status.QOSClass != pod.Status.QOSClass {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, pod.Name, nil)
	}
	if a.takes != nil {
		a.takes(&changed.Status)
	}
	a.written[pod.Name] = append(a.written[pod.Name], changed.Status)
	return a.store(changed), nil
}

func (a *fakeAPI) delete(pod *v1.Pod, body []byte) (*v1.Pod, error) {
	options := metav1.DeleteOptions{}
	if err := json.Unmarshal(body, &options); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if options.GracePeriodSeconds == nil || *options.GracePeriodSeconds != 0 || options.Preconditions == nil {
		return nil, apierrors.NewBadRequest("not a final delete")
	}
	if *options.Preconditions.UID != pod.UID {
		return nil, apierrors.NewConflict(podResource, pod.Name, errors.New("the UID in the precondition does not match the UID in record"))
	}
	if len(pod.Finalizers) == 0 {
		delete(a.pods, pod.Name)
	}
	return pod, nil
}

// reply is what goes over the wire.
func reply(content any, err error) (*http.Response, error) {
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
	if err != nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			return nil, err
		}
		s := status.Status()
		s.Kind, s.APIVersion = "Status", "v1"
		if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
			response.Header.Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
		}
		response.StatusCode, content = int(s.Code), s
	} else if pod, is := content.(*v1.Pod); is {
		pod = pod.DeepCopy()
		pod.Kind, pod.APIVersion = "Pod", "v1"
		content = pod
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}
