//go:build attack

package attack

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
)

const (
	instanceNode = instance.Node
	attacker     = "tenant-b" // its namespace, under Pod Security baseline
	others       = "tenant-a"
)

var (
	seed = flag.Uint64("seed", 0, "of what is chosen; 0 is another one each time")
	pods = flag.Int("pods", 400, "how many hostile objects are made in the cluster, of those that its API server accepts")
	only = flag.String("fields", "", "a regular expression of the fields that get hostile values, such as sysctls")
)

var (
	up     *instance.Instance
	admin  kubernetes.Interface
	tenant kubernetes.Interface
	chance *rand.Rand
	here   testedMachine
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := whole(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func whole(m *testing.M) (code int, err error) {
	if first, err := os.ReadFile("/proc/1/cmdline"); err != nil || !bytes.Contains(first, []byte("./inside\x00")) { // whose namespace of processes it is
		return 1, fmt.Errorf("this attacks the machine: run it by `make attack`, which gives it one of its own")
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("seed %d: `make attack ATTACK='-seed %d'` repeats this\n", *seed, *seed)
	chance = rand.New(rand.NewPCG(*seed, 0))
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	program, err := instance.Program("../../..")
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("/var/tmp", "lifepod-attack-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	port, err := machine.FreePort()
	if err != nil {
		return 1, err
	}
	up, err = instance.Start(ctx, instance.Config{Program: program, Root: filepath.Join(dir, "root"), Args: []string{"--listen", fmt.Sprintf("0.0.0.0:%d", port)}})
	if err != nil {
		return 1, err
	}
	defer func() {
		if e := up.Close(ctx); e != nil && err == nil {
			code, err = 1, e
		}
	}()
	if err := prepare(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// prepare makes the tenants, the victim with its volume, and what the attacker's pods may name.
func prepare(ctx context.Context) (err error) {
	config, err := up.RESTConfig()
	if err != nil {
		return err
	}
	config.WarningHandler = rest.NoWarnings{}
	config.ContentType = runtime.ContentTypeProtobuf // any bytes, where JSON has UTF-8
	if admin, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.Impersonate.UserName = "tenant"
	if tenant, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	right := metav1.ObjectMeta{Name: "right", Namespace: attacker}
	objects := []runtime.Object{
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: others}},
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: attacker, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "baseline"}}},
		&rbac.RoleBinding{
			ObjectMeta: right, RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: "edit"},
			Subjects: []rbac.Subject{{APIGroup: rbac.GroupName, Kind: rbac.UserKind, Name: "tenant"}},
		},
		&v1.ConfigMap{ObjectMeta: right, Data: map[string]string{"right": "K=v"}},
		&v1.Secret{ObjectMeta: right, StringData: map[string]string{"right": "K=v"}},
		&v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "victim", Namespace: others}, Spec: claim},
	}
	victim := pod()
	victim.ObjectMeta = metav1.ObjectMeta{Name: "victim", Namespace: others}
	victim.Spec.NodeName, victim.Spec.ActiveDeadlineSeconds = "", nil
	victim.Spec.Volumes[0].VolumeSource = v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "victim"}}
	victim.Spec.Containers[0].Command = []string{"sh", "-c", "echo SECRET-OF-TENANT-A > /v/secret; sleep 100000"}
	for _, object := range append(objects, victim) {
		if _, err := create(ctx, admin, object); err != nil {
			return err
		}
	}
	seen := watchPods(ctx, others)
	made, err := admin.CoreV1().Pods(others).Get(ctx, "victim", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := seen.until(ctx, func(p *podState) bool { return p.ready }, made.UID); err != nil {
		return err
	}
	here = testedMachine{root: up.Root, victim: filepath.Join(up.Root, "node", "pods", string(made.UID)), seen: seen, uid: made.UID}
	return here.plant()
}
