package csi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/container-storage-interface/spec/lib/go/csi"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// checkMode refuses an inline volume of a driver that has none, and the other way round (A-CSI-9).
func (v volume) checkMode(object *storagev1.CSIDriver) error {
	mode := v.lifecycleMode()
	switch {
	case object == nil && mode == storagev1.VolumeLifecyclePersistent:
		return nil
	case object == nil:
		return fmt.Errorf("volume mode %q not supported by driver %s (no CSIDriver object)", mode, v.driver)
	case len(object.Spec.VolumeLifecycleModes) == 0 && mode == storagev1.VolumeLifecyclePersistent:
		return nil
	case slices.Contains(object.Spec.VolumeLifecycleModes, mode):
		return nil
	}
	return fmt.Errorf("volume mode %q not supported by driver %s (only supports %q)", mode, v.driver, object.Spec.VolumeLifecycleModes)
}

// capability says how the pod uses the volume.
func (p *publishing) capability() *csi.VolumeCapability {
	c := &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: p.want.csiMode(p.can)}}
	if p.want.device {
		c.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		return c
	}
	mount := &csi.VolumeCapability_MountVolume{FsType: p.want.fsType, MountFlags: p.want.options}
	if group := p.want.group(); p.can.MountGroup && group != nil {
		mount.VolumeMountGroup = strconv.FormatInt(*group, 10)
	}
	c.AccessType = &csi.VolumeCapability_Mount{Mount: mount}
	return c
}

// labelled has the volume be mounted with its SELinux label, in quotes since labels have commas
// (A-CSI-18).
func labelled(c *csi.VolumeCapability, label string) *csi.VolumeCapability {
	if mount := c.GetMount(); mount != nil && label != "" {
		mount.MountFlags = append(slices.Clone(mount.MountFlags), fmt.Sprintf("context=%q", label))
	}
	return c
}

func (v volume) csiMode(can Capabilities) csi.VolumeCapability_AccessMode_Mode {
	switch mode := v.accessMode(); {
	case mode == v1.ReadOnlyMany:
		return csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	case mode == v1.ReadWriteMany:
		return csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	case mode == v1.ReadWriteOncePod && can.SingleNodeMultiWriter:
		return csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	case mode == v1.ReadWriteOnce && can.SingleNodeMultiWriter:
		return csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER
	}
	return csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
}

// group is the pod's fsGroup, or nil.
func (v volume) group() *int64 {
	if v.pod.Spec.SecurityContext == nil {
		return nil
	}
	return v.pod.Spec.SecurityContext.FSGroup
}

func (p *publishing) groupPolicy() storagev1.FSGroupPolicy {
	if p.object == nil || p.object.Spec.FSGroupPolicy == nil {
		return storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
	}
	return *p.object.Spec.FSGroupPolicy
}

// secretOf reads what a driver is to be given; without a reference that is nothing.
func secretOf(ctx context.Context, client kubernetes.Interface, field string, ref *v1.SecretReference) (map[string]string, error) {
	data := map[string]string{}
	if ref == nil {
		return data, nil
	}
	secret, err := client.CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("fetching %s %s/%s failed: %s: failed to find the secret %s in the namespace %s with error: %w",
			field, ref.Namespace, ref.Name, pluginName, ref.Name, ref.Namespace, err)
	}
	for name, value := range secret.Data {
		data[name] = string(value)
	}
	return data, nil
}

// podInfo is what drivers with podInfoOnMount are told.
func (v volume) podInfo() map[string]string {
	return map[string]string{
		"csi.storage.k8s.io/pod.name":            v.pod.Name,
		"csi.storage.k8s.io/pod.namespace":       v.pod.Namespace,
		"csi.storage.k8s.io/pod.uid":             string(v.pod.UID),
		"csi.storage.k8s.io/serviceAccount.name": v.pod.Spec.ServiceAccountName,
		"csi.storage.k8s.io/ephemeral":           strconv.FormatBool(v.inline),
	}
}

// addTokens adds the tokens that the driver asks for, by audience.
func (p *publishing) addTokens(ctx context.Context, attributes, secrets map[string]string) error {
	if p.want.device || p.object == nil || len(p.object.Spec.TokenRequests) == 0 {
		return nil
	}
	tokens := map[string]authenticationv1.TokenRequestStatus{}
	for _, request := range p.object.Spec.TokenRequests {
		token, err := p.on.config.Token(ctx, p.want.pod, request)
		if err != nil {
			return err
		}
		tokens[request.Audience] = token
	}
	text, err := json.Marshal(tokens)
	if err != nil {
		return err
	}
	to := attributes
	if in := p.object.Spec.ServiceAccountTokenInSecrets; in != nil && *in {
		to = secrets
	}
	to["csi.storage.k8s.io/serviceAccount.tokens"] = string(text)
	return nil
}
