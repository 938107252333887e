package manifest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/worker/volumes"
)

// agentAnswer is what the agent of a cluster does with a field that lifepod run refuses.
type agentAnswer struct {
	honours string                 // where it does what the field asks for; empty: it refuses
	says    string                 // the words of the refusal
	set     func(spec *v1.PodSpec) // sets the field
}

func refusesVolume(source v1.VolumeSource, name string) agentAnswer {
	return agentAnswer{
		says: "volumes of type " + name + " are not supported",
		set:  func(spec *v1.PodSpec) { spec.Volumes[0].VolumeSource = source },
	}
}

// offInKubernetes are fields that the API server drops, unless their gates are on.
var offInKubernetes = agentAnswer{honours: "nobody, as in a kubelet whose feature gate is off"}

// agentAnswers has each field that lifepod run refuses.
var agentAnswers = map[string]agentAnswer{
	"PodSpec.ephemeralContainers": {honours: "package lifecycle, ephemeral.go"},
	"PodSpec.schedulingGates":     {honours: "the scheduler: a pod with gates has no node"},
	"PodSpec.schedulingGroup":     {honours: "the scheduler"},
	"PodSpec.resourceClaims":      {honours: "package node/devices"},
	"ResourceRequirements.claims": {honours: "package node/devices"},
	"PodOS.name":                  {says: "PodOSNotSupported", set: func(spec *v1.PodSpec) { spec.OS = &v1.PodOS{Name: v1.Windows} }},

	"PodSecurityContext.windowsOptions": {honours: "nobody, as in a kubelet on Linux: what says that the pod is for Windows is spec.os"},
	"SecurityContext.windowsOptions":    {honours: "nobody, as in a kubelet on Linux"},

	"PodSpec.evictionResponders":          offInKubernetes,
	"HTTPGetAction.protocol":              offInKubernetes,
	"GRPCAction.mode":                     offInKubernetes,
	"VolumeMount.bindMountOptions":        offInKubernetes,
	"EmptyDirVolumeSource.mode":           offInKubernetes,
	"SecretVolumeSource.defaultUser":      offInKubernetes,
	"ConfigMapVolumeSource.defaultUser":   offInKubernetes,
	"DownwardAPIVolumeSource.defaultUser": offInKubernetes,
	"DownwardAPIVolumeFile.user":          offInKubernetes,
	"ProjectedVolumeSource.defaultUser":   offInKubernetes,
	"KeyToPath.user":                      offInKubernetes,

	"Container.volumeDevices":              {honours: "package volumes, device.go"},
	"VolumeProjection.serviceAccountToken": {honours: "package volumes, projected.go"},
	"VolumeProjection.clusterTrustBundle":  {honours: "package volumes, projected.go"},
	"VolumeProjection.podCertificate":      {honours: "package node/objects, with the feature gate PodCertificateRequest"},
	"VolumeSource.ephemeral":               {honours: "package volumes, claim.go"},
	"VolumeSource.csi":                     {honours: "package node/csi"},
	"VolumeSource.gcePersistentDisk":       {honours: "package node/csi"},
	"VolumeSource.awsElasticBlockStore":    {honours: "package node/csi"},
	"VolumeSource.gitRepo":                 refusesVolume(v1.VolumeSource{GitRepo: &v1.GitRepoVolumeSource{}}, "gitRepo"),
	"VolumeSource.nfs":                     refusesVolume(v1.VolumeSource{NFS: &v1.NFSVolumeSource{}}, "nfs"),
	"VolumeSource.iscsi":                   refusesVolume(v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{}}, "iscsi"),
	"VolumeSource.glusterfs":               refusesVolume(v1.VolumeSource{Glusterfs: &v1.GlusterfsVolumeSource{}}, "glusterfs"),
	"VolumeSource.rbd":                     refusesVolume(v1.VolumeSource{RBD: &v1.RBDVolumeSource{}}, "rbd"),
	"VolumeSource.flexVolume":              refusesVolume(v1.VolumeSource{FlexVolume: &v1.FlexVolumeSource{}}, "flexVolume"),
	"VolumeSource.cinder":                  {honours: "package node/csi"},
	"VolumeSource.cephfs":                  refusesVolume(v1.VolumeSource{CephFS: &v1.CephFSVolumeSource{}}, "cephfs"),
	"VolumeSource.flocker":                 refusesVolume(v1.VolumeSource{Flocker: &v1.FlockerVolumeSource{}}, "flocker"),
	"VolumeSource.fc":                      refusesVolume(v1.VolumeSource{FC: &v1.FCVolumeSource{}}, "fc"),
	"VolumeSource.azureFile":               {honours: "package node/csi"},
	"VolumeSource.vsphereVolume":           {honours: "package node/csi"},
	"VolumeSource.quobyte":                 refusesVolume(v1.VolumeSource{Quobyte: &v1.QuobyteVolumeSource{}}, "quobyte"),
	"VolumeSource.azureDisk":               {honours: "package node/csi"},
	"VolumeSource.photonPersistentDisk":    refusesVolume(v1.VolumeSource{PhotonPersistentDisk: &v1.PhotonPersistentDiskVolumeSource{}}, "photonPersistentDisk"),
	"VolumeSource.portworxVolume":          {honours: "package node/csi"},
	"VolumeSource.scaleIO":                 refusesVolume(v1.VolumeSource{ScaleIO: &v1.ScaleIOVolumeSource{}}, "scaleIO"),
	"VolumeSource.storageos":               refusesVolume(v1.VolumeSource{StorageOS: &v1.StorageOSVolumeSource{}}, "storageos"),
}

// clusterVolumes is an API server that gives nothing.
type clusterVolumes struct{ volumes.API }

// TestAgentAnswersForRefusedFields: what lifepod run refuses, the agent of a cluster does, or refuses by name:
// at admission or when it mounts the volumes. It never runs a pod without what the pod asks for.
func TestAgentAnswersForRefusedFields(t *testing.T) {
	for name, entry := range fieldSupport {
		if _, answered := agentAnswers[name]; (entry.verdict == isRefused) != answered {
			t.Errorf("%s: refused by lifepod run: %v, in agentAnswers: %v", name, entry.verdict == isRefused, answered)
		}
	}
	for name, answer := range agentAnswers {
		if answer.honours != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{Spec: v1.PodSpec{
				Volumes:    []v1.Volume{{Name: "v"}},
				Containers: []v1.Container{{Name: "main", VolumeMounts: []v1.VolumeMount{{Name: "v", MountPath: "/v"}}}},
			}}
			answer.set(&pod.Spec)
			said := agentRefusal(t, pod)
			assert.True(t, strings.Contains(said, answer.says), "the agent says %q, want %q in it", said, answer.says)
		})
	}
}

func agentRefusal(t *testing.T, pod *v1.Pod) string {
	if refusal := admit.Check(pod, admit.Host{}); refusal != nil {
		return refusal.Reason + ": " + refusal.Message
	}
	_, err := volumes.Prepare(context.Background(), pod, filepath.Join(t.TempDir(), "pod"), volumes.Sources{API: clusterVolumes{}})
	if err == nil {
		return ""
	}
	return err.Error()
}
