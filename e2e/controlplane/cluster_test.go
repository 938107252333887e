package controlplane_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	watchtools "k8s.io/client-go/tools/watch"
)

// until watches the objects of a resource that one field selects until one of
// them is as wanted.
func until[T runtime.Object](t *testing.T, getter cache.Getter, resource, namespace string, selector fields.Selector, wanted func(T) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var last T
	objects := cache.NewListWatchFromClient(getter, resource, namespace, selector)
	_, err := watchtools.UntilWithSync(ctx, objects, last, nil, func(e watch.Event) (bool, error) {
		last = e.Object.(T)
		return wanted(last), nil
	})
	if err != nil {
		t.Fatalf("watch %s %s: %v; the last one seen: %v", resource, selector, err, last)
	}
}

// addNode adds a Node that says it is ready, with nothing behind it.
func addNode(t *testing.T, name string) {
	t.Helper()
	room := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("4Gi"), v1.ResourcePods: resource.MustParse("110"),
	}
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []v1.NodeCondition{{
			Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}}},
	}
	if _, err := admin(t).CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func podTemplate(node string) v1.PodTemplateSpec {
	return v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: v1.PodSpec{
			NodeSelector: map[string]string{v1.LabelHostname: node},
			Containers:   []v1.Container{{Name: "web", Image: "lifepod.dev/toolbox:1"}},
		},
	}
}

func TestDeploymentBecomesScheduledPods(t *testing.T) {
	t.Parallel()
	addNode(t, "for-deployment")
	replicas := int32(2)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: podTemplate("for-deployment"),
		},
	}
	client := admin(t)
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	scheduled := map[string]bool{}
	onNode := fields.OneTermEqualSelector("spec.nodeName", "for-deployment")
	until(t, client.CoreV1().RESTClient(), "pods", "default", onNode, func(pod *v1.Pod) bool {
		scheduled[pod.Name] = true
		return len(scheduled) == 2
	})
	out, err := plane.Kubectl(t.Context(), "", "get", "pods", "--selector=app=web", "--output=name")
	if err != nil {
		t.Fatal(err)
	}
	for name := range scheduled {
		if !strings.Contains(out, "pod/"+name+"\n") {
			t.Errorf("kubectl get pods printed\n%swithout %s", out, name)
		}
	}
}

func nodeClient(t *testing.T, name string) kubernetes.Interface {
	t.Helper()
	path, err := plane.NodeKubeconfig(name)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestNodeMayOnlyDoWhatConcernsIt(t *testing.T) {
	t.Parallel()
	addNode(t, "mine")
	addNode(t, "other")
	client, ctx := nodeClient(t, "mine"), t.Context()
	status := []byte(`{"status":{"nodeInfo":{"kubeletVersion":"v1.36.3"}}}`)
	for node, want := range map[string]bool{"mine": true, "other": false} {
		_, err := client.CoreV1().Nodes().PatchStatus(ctx, node, status)
		if got := err == nil; got != want || err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("node %q writes the status of node %q: %v, want allowed: %t, or forbidden", "mine", node, err, want)
		}
	}

	secrets := admin(t).CoreV1().Secrets("default")
	for _, name := range []string{"used-here", "used-nowhere"} {
		if _, err := secrets.Create(ctx, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "with-secret"}, Spec: podTemplate("mine").Spec}
	pod.Spec.NodeName = "mine"
	pod.Spec.Volumes = []v1.Volume{{Name: "secret", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "used-here"}}}}
	if _, err := admin(t).CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The authorizer learns of the pod by a watch; the node's own one shows the
	// secret once it may see it.
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector(metav1.ObjectNameField, name) }
	until(t, client.CoreV1().RESTClient(), "secrets", "default", named("used-here"), func(*v1.Secret) bool { return true })
	if _, err := client.CoreV1().Secrets("default").Get(ctx, "used-nowhere", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the node reads a secret that no pod of it uses: %v, want forbidden", err)
	}
}

// TestNodeJoinsWithBootstrapToken asks for the first certificate of a node.
func TestNodeJoinsWithBootstrapToken(t *testing.T) {
	t.Parallel()
	path, err := plane.BootstrapKubeconfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	request := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "joining"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    nodeRequest(t, "joining"),
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
	requests := client.CertificatesV1()
	if _, err := requests.CertificateSigningRequests().Create(t.Context(), request, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	joining := fields.OneTermEqualSelector(metav1.ObjectNameField, "joining")
	var signed []byte
	until(t, requests.RESTClient(), "certificatesigningrequests", "", joining, func(r *certificatesv1.CertificateSigningRequest) bool {
		signed = r.Status.Certificate
		return len(signed) > 0
	})
	block, _ := pem.Decode(signed)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := certificate.Subject.CommonName, "system:node:joining"; got != want {
		t.Errorf("the certificate is for %q, want %q", got, want)
	}
}

func nodeRequest(t *testing.T, node string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	subject := pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// TestRestartRulesAreKept creates a pod whose container restarts all containers:
// an API server without the feature would drop or refuse that.
func TestRestartRulesAreKept(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: v1
kind: Pod
metadata: {name: restarts-all}
spec:
  nodeSelector: {kubernetes.io/hostname: nowhere}
  containers:
  - name: main
    image: lifepod.dev/toolbox:1
    restartPolicy: Never
    restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]
`
	if _, err := plane.Kubectl(t.Context(), manifest, "apply", "--filename=-"); err != nil {
		t.Fatal(err)
	}
	pod, err := admin(t).CoreV1().Pods("default").Get(t.Context(), "restarts-all", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules := pod.Spec.Containers[0].RestartPolicyRules
	if len(rules) != 1 || rules[0].Action != v1.ContainerRestartRuleActionRestartAllContainers {
		t.Errorf("restart rules of the stored pod: %+v, want RestartAllContainers", rules)
	}
}
