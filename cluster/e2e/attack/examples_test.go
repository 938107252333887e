//go:build attack

package attack

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const toolbox = "lifepod.dev/toolbox:1"

// annotations are those that lifepod, the kubelet, containerd, runc, crun or network plugins read.
var annotations = []string{
	"restart.lifepod.dev/back-off", "restart.lifepod.dev/back-off-after-success", "restart.lifepod.dev/max-restarts",
	"restart.lifepod.dev/restart-all-back-off", "lifepod.dev/group", "lifepod.dev/group-size", "lifepod.dev/group-attempt",
	"lifepod.dev/group-began", "lifepod.dev/group-done", "lifepod.dev/node", "lifepod.dev/traceparent", "mirror.lifepod.dev/without",
	"lifepod.dev/size", "lifepod.dev/done-in-boot", "kubernetes.io/config.source", "kubernetes.io/config.hash", "kubernetes.io/config.seen",
	v1.MirrorPodAnnotationKey, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "main", "kubectl.kubernetes.io/default-container",
	"io.kubernetes.cri.container-type", "io.kubernetes.cri.sandbox-id", "io.kubernetes.cri.sandbox-log-directory",
	"io.kubernetes.cri.untrusted-workload", "io.containerd.cri.runtime-handler", "io.containerd.runc.v2.group",
	"org.systemd.property.ExecStartPre", "run.oci.handler", "run.oci.hooks.stdout", "cdi.k8s.io/x", "devices.nri.io/container.main",
	"io.kubernetes.container.terminationMessagePath", "io.kubernetes.container.preStopHandler", "io.kubernetes.pod.terminationGracePeriod",
	"k8s.v1.cni.cncf.io/networks", "kubernetes.io/ingress-bandwidth", "volume.kubernetes.io/selected-node",
	"volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-class", "service.kubernetes.io/service-proxy-name",
}

// example is a value with which what is around it is right.
func example(t reflect.Type) reflect.Value {
	for _, value := range examples {
		if reflect.TypeOf(value) == t {
			found := reflect.New(t)
			found.Elem().Set(reflect.ValueOf(value))
			if copied := found.MethodByName("DeepCopyInto"); copied.IsValid() {
				found = reflect.New(t)
				copied.Call([]reflect.Value{found})
			}
			return found.Elem()
		}
	}
	return reflect.New(t).Elem()
}

var (
	always   = v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}
	selector = metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	name     = v1.LocalObjectReference{Name: "right"}
	claim    = v1.PersistentVolumeClaimSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
		Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("16Mi")}},
	}
	term = v1.PodAffinityTerm{LabelSelector: &selector, TopologyKey: "kubernetes.io/hostname"}
	node = v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "k", Operator: v1.NodeSelectorOpNotIn, Values: []string{"v"}}}}
)

var examples = []any{
	v1.Container{Name: "other", Image: toolbox, Command: []string{"true"}}, v1.EnvVar{Name: "E"},
	v1.EnvFromSource{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: name}},
	v1.ConfigMapEnvSource{LocalObjectReference: name}, v1.SecretEnvSource{LocalObjectReference: name},
	v1.ConfigMapKeySelector{LocalObjectReference: name, Key: "right"}, v1.SecretKeySelector{LocalObjectReference: name, Key: "right"},
	v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"},
	v1.ResourceFieldSelector{ContainerName: "main", Resource: "limits.cpu"}, v1.FileKeySelector{VolumeName: "v", Path: "file", Key: "K"},
	v1.Probe{ProbeHandler: always, PeriodSeconds: 1}, v1.ExecAction{Command: []string{"true"}}, v1.HTTPGetAction{Port: intstr.FromInt32(80)},
	v1.TCPSocketAction{Port: intstr.FromInt32(80)}, v1.GRPCAction{Port: 80}, v1.SleepAction{Seconds: 1}, v1.HTTPHeader{Name: "X-A", Value: "v"},
	v1.Lifecycle{}, v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}, v1.ContainerPort{ContainerPort: 80},
	v1.VolumeMount{Name: "v", MountPath: "/m"}, v1.VolumeDevice{Name: "v", DevicePath: "/dev/x"}, v1.KeyToPath{Key: "right", Path: "right"},
	v1.ConfigMapVolumeSource{LocalObjectReference: name}, v1.SecretVolumeSource{SecretName: "right"},
	v1.ConfigMapProjection{LocalObjectReference: name}, v1.SecretProjection{LocalObjectReference: name},
	v1.DownwardAPIVolumeFile{Path: "right", FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.labels"}},
	v1.ServiceAccountTokenProjection{Path: "token"}, v1.PersistentVolumeClaimVolumeSource{ClaimName: "right"},
	v1.PersistentVolumeClaimTemplate{Spec: claim}, claim,
	v1.CSIVolumeSource{Driver: "local.csi.lifepod.dev"}, v1.ImageVolumeSource{Reference: toolbox, PullPolicy: v1.PullIfNotPresent},
	v1.NFSVolumeSource{Server: "127.0.0.1", Path: "/"}, v1.ISCSIVolumeSource{TargetPortal: "127.0.0.1", IQN: "iqn.2026-01.x:y"},
	v1.VolumeProjection{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: name}},
	v1.Toleration{Key: "k", Operator: v1.TolerationOpEqual, Value: "v"}, v1.Sysctl{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"},
	v1.HostAlias{IP: "192.0.2.1", Hostnames: []string{"right"}}, v1.PodDNSConfigOption{Name: "ndots"}, name,
	v1.PodReadinessGate{ConditionType: "right"}, v1.PodResourceClaim{Name: "right"}, term, v1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: term},
	node, v1.PreferredSchedulingTerm{Weight: 1, Preference: node}, node.MatchExpressions[0], selector,
	v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{node}}, metav1.LabelSelectorRequirement{Key: "k", Operator: metav1.LabelSelectorOpExists},
	v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: &selector},
	v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost}, v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault},
	v1.ContainerResizePolicy{ResourceName: v1.ResourceCPU, RestartPolicy: v1.NotRequired}, v1.PodOS{Name: v1.Linux},
	metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "right", UID: "right"}, v1.ServicePort{Name: "p", Port: 80},
	v1.ClientIPConfig{}, v1.SessionAffinityConfig{}, v1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "right"},
	v1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "right"}, resource.MustParse("1"), "right", []byte("right"),
}

var named = metav1.ObjectMeta{GenerateName: "a-", Namespace: attacker, Labels: map[string]string{"app": "a"}, Annotations: map[string]string{"a": "b"}}

// base are the objects whose fields get hostile values.
func base() []runtime.Object {
	objects := []runtime.Object{
		pod(), &v1.ConfigMap{ObjectMeta: named}, &v1.Secret{ObjectMeta: named}, &v1.PersistentVolumeClaim{ObjectMeta: named, Spec: claim},
		&v1.Service{ObjectMeta: named, Spec: v1.ServiceSpec{Selector: map[string]string{"app": "a"}, Ports: []v1.ServicePort{{Name: "p", Port: 80}}}},
	}
	for i := range objects {
		objects[i] = objects[i].DeepCopyObject()
	}
	return objects
}

// pod becomes Ready at once, and ends by itself if nothing else ends it.
func pod() *v1.Pod {
	var grace, deadline int64 = 1, 20
	return &v1.Pod{ObjectMeta: *named.DeepCopy(), Spec: v1.PodSpec{
		RestartPolicy: v1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace, ActiveDeadlineSeconds: &deadline, NodeName: instanceNode,
		InitContainers: []v1.Container{{Name: "first", Image: toolbox, Command: []string{"true"}}},
		Containers:     []v1.Container{{Name: "main", Image: toolbox, Command: []string{"sleep", "1000"}, VolumeMounts: []v1.VolumeMount{{Name: "v", MountPath: "/v"}}}},
		Volumes:        []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}},
	}}
}

// user is a pod that uses an object of the attacker's.
func user(object runtime.Object) *v1.Pod {
	p := pod()
	source := &p.Spec.Volumes[0].VolumeSource
	switch object := object.(type) {
	case *v1.Pod:
		return nil
	case *v1.ConfigMap:
		reference := v1.LocalObjectReference{Name: object.Name}
		*source = v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: reference}}
		p.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: reference}}}
	case *v1.Secret:
		*source = v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: object.Name}}
		p.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: object.Name}}}}
		p.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: object.Name}}
	case *v1.PersistentVolumeClaim:
		p.Spec.NodeName = "" // its volume is made when the scheduler has chosen a node
		*source = v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: object.Name}}
	}
	return p
}
