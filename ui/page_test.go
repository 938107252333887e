package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/ui/browser"
)

// shopPod is a pod of one of the shop's Deployments: of cart it fails, of search it has no node, of web it is as it should be.
func shopPod(i int, app string, since metav1.Time) v1.Pod {
	p := v1.Pod{Spec: v1.PodSpec{NodeName: fmt.Sprintf("node-%d", i%5), Containers: []v1.Container{{Name: "main", Image: app + ":1"}}}}
	p.Namespace, p.Name, p.UID, p.CreationTimestamp = "shop", fmt.Sprintf("%s-5d8-%03d", app, i), types.UID(fmt.Sprint("uid-", i)), since
	p.Labels = map[string]string{"app": app}
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: app + "-5d8", Controller: new(true)}}
	p.Status.Phase = v1.PodRunning
	ready, main := v1.ConditionFalse, v1.ContainerStatus{Name: "main"}
	switch app {
	case "cart":
		main.RestartCount, main.State.Waiting = 6, &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 2m40s restarting failed container"}
		main.LastTerminationState.Terminated = &v1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", FinishedAt: since}
	case "search":
		p.Spec.NodeName, p.Status.Phase = "", v1.PodPending
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, LastTransitionTime: since, Message: "0/5 nodes are available: 5 Insufficient cpu."}}
	default:
		ready, main.Ready, main.Started, main.State.Running = v1.ConditionTrue, true, new(true), &v1.ContainerStateRunning{StartedAt: since}
	}
	p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: ready, LastTransitionTime: since})
	p.Status.ContainerStatuses = []v1.ContainerStatus{main}
	return p
}

// shop is what an API server has, by path: 240 pods, a Deployment whose pods are refused, and a Service without endpoints.
func shop() map[string]any {
	since := metav1.NewTime(time.Now().Add(-3 * time.Hour))
	var pods v1.PodList
	var sets appsv1.ReplicaSetList
	for i := range 240 {
		app := "web"
		switch {
		case i < 12:
			app = "cart"
		case i == 12:
			app = "search"
		}
		pods.Items = append(pods.Items, shopPod(i, app, since))
	}
	for _, app := range []string{"cart", "search", "web", "mail"} {
		set := appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1))}}
		set.Namespace, set.Name, set.OwnerReferences = "shop", app+"-5d8", []metav1.OwnerReference{{Kind: "Deployment", Name: app, Controller: new(true)}}
		if app == "mail" {
			set.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: v1.ConditionTrue, Message: `pods "mail-5d8-" is forbidden: exceeded quota: small, requested: pods=1, used: pods=240, limited: pods=240`}}
		}
		sets.Items = append(sets.Items, set)
	}
	service := v1.Service{Spec: v1.ServiceSpec{Selector: map[string]string{"app": "search"}}}
	service.Namespace, service.Name = "shop", "search"
	row := func(cells ...any) metav1.TableRow {
		object := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint(cells[0])}}
		raw, _ := json.Marshal(object)
		r := metav1.TableRow{Cells: cells}
		r.Object.Raw = raw
		return r
	}
	return map[string]any{
		"/api/v1/pods": pods, "/apis/apps/v1/replicasets": sets, "/api/v1/services": v1.ServiceList{Items: []v1.Service{service}},
		"/apis/apps/v1/deployments": metav1.Table{
			ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name"}, {Name: "Ready"}},
			Rows:              []metav1.TableRow{row("cart", "0/12"), row("mail", "0/1"), row("search", "0/1"), row("web", "227/227")},
		},
		"/apis/apps/v1/statefulsets": 0, "/apis/apps/v1/daemonsets": 0, "/apis/batch/v1/jobs": 0, "/api/v1/persistentvolumeclaims": 0,
		"/apis/discovery.k8s.io/v1/endpointslices": 0, "/api/v1/events": 0, "/api/v1/namespaces/shop/events": 0,
	}
}

// TestPageOfMany: of 240 pods the list of troubles is short, and search, states and tables lead to each, by the address, too.
// What the browser has broken off is loaded again.
func TestPageOfMany(t *testing.T) {
	paths := shop()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch value := paths[r.URL.Path]; value {
		case nil:
			w.WriteHeader(http.StatusNotFound)
		case 0:
			value = struct{}{}
			fallthrough
		default:
			_ = json.NewEncoder(w).Encode(value) // the page has gone
		}
	}))
	t.Cleanup(api.Close)
	cluster := assert.Get(clusterOf(&rest.Config{Host: api.URL})).Must(t)
	s, _ := serve(t, cluster)
	var broken, chinese atomic.Bool
	inner := s.http.Handler
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/views.js") && broken.CompareAndSwap(false, true) {
			panic(http.ErrAbortHandler)
		}
		if chinese.Load() {
			r.Header.Set("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8")
		}
		inner.ServeHTTP(w, r)
	})
	p := browser.Open(t, s.Link())
	p.AwaitText(".heading .sub", "240 pods, 13 to look at")
	p.AwaitText(".chips", "failing 12")
	p.AwaitText(".why .bad.count", "2 failing")
	p.Size(390, 844, true)
	p.Accessible("the list on a phone")
	p.Shot("many-phone")
	p.Size(1280, 800, false)
	p.Accessible("the list")
	p.Shot("many")
	p.Await(`document.querySelector(".pods .pod").getBoundingClientRect().top < innerHeight`)
	p.AwaitText(".why .who", "and 10 more")

	p.Press("/")
	p.Await(`document.activeElement.id === "search"`)
	p.Do(chromedp.Evaluate(`document.getElementById("search").value = ""`, nil)) // the browser is sent the character apart from its key
	p.Press("search-5")
	p.Await(`document.querySelectorAll(".pods .pod").length === 1 && location.hash === "#/?q=search-5"`)
	p.Shot("many-search")
	p.Click(".pods .name", "shop/search-5d8-012")
	p.AwaitText(".why li", "5 Insufficient cpu")
	p.Accessible("a pod without a node")
	p.Shot("many-pod")
	p.Do(chromedp.Evaluate("history.back()", nil))
	p.Await(`document.getElementById("search")?.value === "search-5" && document.querySelectorAll(".pods .pod").length === 1`)

	p.Click("nav a", "Deployments")
	p.Click("tbody a", "cart")
	p.AwaitText("h1", "Deployment shop/cart")
	p.Await(`document.querySelectorAll(".pods .pod").length === 12 && document.querySelectorAll(".why li").length === 1`)
	p.Accessible("a Deployment")
	p.Shot("many-deployment")
	p.Click("nav a", "Deployments")
	p.Click("tbody a", "mail")
	p.AwaitText(".why li", "another can't be created")
	p.Shot("many-refused")

	chinese.Store(true)
	p.Do(chromedp.Evaluate(`location.hash = "#/"; location.reload()`, nil))
	p.AwaitText(".heading .sub", "240 个 Pod，13 个需要查看")
	p.AwaitText(".why .who", "和另外 10 个")
	p.Await(`document.documentElement.lang === "zh"`)
	p.Size(390, 844, true)
	p.Accessible("the list in Chinese")
	p.Shot("many-chinese")
	p.Click(".why .who a", "shop/search-5d8-012")
	p.AwaitText(".why li", "Pod 还没有节点")
	p.Size(1280, 800, false)
	p.Shot("many-chinese-pod")
}
