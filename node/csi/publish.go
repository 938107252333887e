package csi

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// publishing is a volume that becomes available to a pod.
type publishing struct {
	on   *Volumes
	want volume
	own  func(dir string) error

	driver *Driver
	object *storagev1.CSIDriver // nil: the driver has none
	can    Capabilities
	// attached is what the attacher has said of the volume.
	attached map[string]string
	inUse    bool   // the volume is expanded while the pod has it
	label    string // of SELinux, that the volume is mounted with; empty: without
}

// path is where the pod's containers get the volume.
func (p *publishing) path() string {
	if p.want.device {
		return p.on.layout.publishedDevice(p.want.pod.UID, p.want.name)
	}
	return target(p.on.layout.volume(p.want.pod.UID, p.want.name))
}

// recordDir has the record of the pod's volume.
func (p *publishing) recordDir() string { return p.on.layout.recordOf(p.want) }

// there says whether the pod has the volume, from this agent or one before (A-CSI-12).
func (p *publishing) there() (bool, error) {
	r, err := readRecord(p.recordDir())
	if err != nil || r == nil || r[keyDone] != p.on.config.Boot {
		return false, err
	}
	keepLabel(p, r)
	return true, nil
}

// prepare has what the driver is called with, and the volume attached; there: the pod has it.
func (p *publishing) prepare(ctx context.Context, there bool) error {
	began := time.Now()
	if err := p.find(ctx); err != nil || there && !p.republishes() {
		if !there {
			p.on.config.Operation(ended(p.want.driver, operation("volume_mount", "map_volume", p.want.device), began, err))
		}
		return err
	}
	if !there {
		if err := chooseLabel(p); err != nil {
			return p.want.failed(p.want.setUpStep(), err)
		}
	}
	err := free(p)
	if err != nil || p.want.inline || !attaches(p.object) {
		return p.want.failed(p.want.setUpStep(), err)
	}
	began = time.Now()
	p.attached, err = attaching{
		on: p.on, volume: p.want.key(), pod: p.want.podVolume(), has: there, counts: counts(p.object), patience: attachPatience,
	}.await(ctx)
	if !there {
		p.on.config.Operation(ended(p.want.driver, "verify_controller_attached_volume", began, err))
	}
	return p.want.failed(p.want.attachStep(), err)
}

// free says why the pod can't have the volume beside those that have it.
func free(p *publishing) error {
	if err := otherLabel(p); err != nil {
		return err
	}
	return p.on.layout.onlyPod(p.want)
}

// run calls the driver (A-CSI-4).
func (p *publishing) run(ctx context.Context) error {
	if err := free(p); err != nil { // another one may have come while this one waited
		return p.want.failed(p.want.setUpStep(), err)
	}
	if err := takeBackOtherLabel(ctx, p); err != nil {
		return p.want.failed(p.want.mountStep(), err)
	}
	if err := p.remember(""); err != nil {
		return p.want.failed(p.want.setUpStep(), err)
	}
	claim := askClaim(ctx, p) // meanwhile: nothing is to wait after the driver's answer
	if !p.want.inline {
		p.on.inUse.arrived(p.want.podVolume(), p.want.key())
		if err := p.stage(ctx); err != nil {
			return p.want.failed(p.want.mountStep(), err)
		}
	}
	if err := p.publish(ctx); err != nil {
		return p.want.failed(p.want.setUpStep(), err)
	}
	if err := p.keep(); err != nil {
		return err
	}
	if err := expand(ctx, p, claim); err != nil {
		return p.want.failed(p.want.expandStep(), err)
	}
	return p.want.failed(p.want.setUpStep(), p.remember(p.on.config.Boot))
}

// find gets the driver, and checks that the volume can be its.
func (p *publishing) find(ctx context.Context) (err error) {
	p.driver, err = p.on.config.Drivers.Driver(p.want.driver)
	if err != nil {
		if p.want.inline {
			return p.want.failed(p.want.setUpStep(), fmt.Errorf("%s: mounter.SetUpAt failed to get CSI client: %w", pluginName, err))
		}
		return p.want.failed(p.want.mountStep(), fmt.Errorf("%s: attacher.MountDevice failed to create newCsiDriverClient: %w", pluginName, err))
	}
	if p.object, err = p.on.config.Drivers.Object(ctx, p.want.driver); err == nil {
		err = p.want.checkMode(p.object)
	}
	if err != nil {
		return p.want.failed(p.want.setUpStep(), fmt.Errorf("%s: mounter.SetupAt failed to check volume lifecycle mode: %w", pluginName, err))
	}
	if p.can, err = p.driver.Capabilities(ctx); err != nil {
		return p.want.failed(p.want.mountStep(), err)
	}
	return nil
}

// remember writes what the pod has of the volume, before the driver is called; done in a boot:
// the driver has answered.
func (p *publishing) remember(done string) error {
	dir := p.recordDir()
	if err := os.MkdirAll(filepath.Dir(p.path()), 0o750); err != nil {
		return err
	}
	r := p.newRecord()
	if expands(p) { // which tells its size
		r[keySize] = room(sizeDigits)
	}
	if done != "" {
		r[keyDone] = done
		if size := p.on.sizes.of(p.want, dir); !size.IsZero() {
			r.setSize(size)
		}
		return complete(dir, r)
	}
	if p.want.device {
		if err := p.rememberDevice(); err != nil {
			return err
		}
	}
	return writeRecord(dir, r)
}

// newRecord has room for the boot.
func (p *publishing) newRecord() record {
	r := record{
		keyDone: room(len(p.on.config.Boot)),
		keyName: p.want.name, keyHandle: p.want.handle, keyDriver: p.want.driver, keyNode: p.on.config.Node, keyMode: string(p.want.lifecycleMode()),
		keyAttachment: attachmentName(p.want.key(), p.on.config.Node),
	}
	if p.label != "" {
		r[keyLabel] = p.label
	}
	return r
}

func (p *publishing) publish(ctx context.Context) error {
	request, err := p.publishRequest(ctx)
	if err != nil {
		return err
	}
	if _, err := p.driver.node().NodePublishVolume(ctx, request); err != nil {
		if Final(err) {
			_ = os.Remove(p.path()) // if the driver has made it
		}
		return err
	}
	p.setRepublished(p.republishes() || expandsInUse(p))
	if p.can.MountGroup || p.want.group() == nil || !p.want.ownable(p.groupPolicy()) {
		return nil
	}
	began := time.Now()
	err = p.own(p.path())
	p.on.config.Operation(ended(p.want.driver, "volume_apply_access_control", began, err))
	if err != nil {
		return fmt.Errorf("applyFSGroup failed for vol %s: %w", p.want.handle, err)
	}
	return nil
}

func (p *publishing) publishRequest(ctx context.Context) (*csi.NodePublishVolumeRequest, error) {
	secrets, err := secretOf(ctx, p.on.config.Client, "NodePublishSecretRef", p.want.secrets.publish)
	if err != nil {
		return nil, err
	}
	attributes := maps.Clone(p.want.attributes)
	if attributes == nil {
		attributes = map[string]string{}
	}
	if p.object != nil && p.object.Spec.PodInfoOnMount != nil && *p.object.Spec.PodInfoOnMount {
		maps.Copy(attributes, p.want.podInfo())
	}
	if err := p.addTokens(ctx, attributes, secrets); err != nil {
		return nil, fmt.Errorf("%s: mounter.SetUpAt failed to get service accoount token attributes: %w", pluginName, err)
	}
	request := &csi.NodePublishVolumeRequest{
		VolumeId: p.want.handle, TargetPath: p.path(), Readonly: p.want.readOnly, PublishContext: p.attached, VolumeContext: attributes,
		Secrets: secrets, VolumeCapability: labelled(p.capability(), p.label),
	}
	if p.can.StageUnstage && !p.want.inline {
		request.StagingTargetPath = p.stagingPath()
	}
	return request, nil
}

// again has a volume published anew that the driver wants to be, as for a new token (A-CSI-11),
// or expanded. A failure leaves what the pod has.
func (p *publishing) again(ctx context.Context) error {
	p.setRepublished(p.republishes() || expandsInUse(p))
	if err := p.keep(); err != nil { // a lifepod before this one may not have
		return err
	}
	if err := expandInUse(ctx, p); err != nil { // tried again with the next look
		p.on.config.Event(p.want.podReference(), v1.EventTypeWarning, "VolumeResizeFailed",
			p.want.failed("NodeExpandVolume.NodeExpandVolume failed", err).Error())
	}
	if err := p.keepSize(); err != nil || !p.republishes() {
		return err
	}
	began := time.Now()
	request, err := p.publishRequest(ctx)
	if err == nil {
		_, err = p.driver.node().NodePublishVolume(ctx, request)
	}
	p.on.config.Operation(ended(p.want.driver, "volume_mount", began, err))
	return err
}

func (p *publishing) republishes() bool {
	return !p.want.device && p.object != nil && p.object.Spec.RequiresRepublish != nil && *p.object.Spec.RequiresRepublish
}
