package csi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

// publishingWait is how long a registration waits for the API server; what a driver says is
// published afterwards then.
const publishingWait = 5 * time.Second

// Validate says whether a driver speaks a version that is known (A-CSI-1).
func (r *Registry) Validate(name, endpoint string, versions []string) error {
	if _, err := r.validate("ValidatePlugin", name, endpoint, versions); err != nil {
		return fmt.Errorf("validation failed for CSI Driver %s at endpoint %s: %w", name, endpoint, err)
	}
	return nil
}

// validate finds the highest version of a driver that is known.
func (r *Registry) validate(caller, name, endpoint string, versions []string) (*version.Version, error) {
	if len(versions) == 0 {
		return nil, fmt.Errorf("kubernetes.io/csi: %s for CSI driver %q failed. Plugin returned an empty list for supported versions", caller, name)
	}
	highest, err := version.HighestSupportedVersion(versions)
	if err != nil {
		return nil, fmt.Errorf("kubernetes.io/csi: %s for CSI driver %q failed. None of the versions specified %q are supported. err=%w", caller, name, versions, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.newest(name); now != nil && now.endpoint != endpoint && highest.LessThan(now.version) {
		return nil, fmt.Errorf("kubernetes.io/csi: %s for CSI driver %q failed. Another driver with the same name is already registered with a higher supported version: %q",
			caller, name, now.version)
	}
	return highest, nil
}

// Register takes a driver into use as soon as it has said what it knows of the node, and tells
// the cluster of it. A driver of the same name goes on being called by who has it already.
func (r *Registry) Register(ctx context.Context, name, endpoint string, versions []string) error {
	highest, err := r.validate("RegisterPlugin", name, endpoint, versions)
	if err != nil {
		return err
	}
	d := &Driver{name: name, endpoint: endpoint, version: highest}
	if r.config.Counted != nil {
		d.options = append(d.options, r.config.Counted(name))
	}
	if err := d.ask(ctx); err != nil {
		return err
	}
	if d.nodeID == "" {
		return errors.New("error adding CSI driver node info: driverNodeID must not be empty")
	}
	r.objects.want()
	wish := r.add(d)
	r.changed()
	timer := time.NewTimer(r.patience)
	defer timer.Stop()
	select {
	case err = <-wish.Refused():
	case <-wish.Done():
	case <-timer.C:
		r.config.Log.WarnContext(ctx, "a CSI driver is used before the API server knows of it", "driver", name, "endpoint", endpoint)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && r.remove(name, func(one *Driver) bool { return one == d }) {
		r.changed()
	}
	return err
}

// Deregister stops using a driver whose socket is gone.
func (r *Registry) Deregister(name, endpoint string) {
	if r.remove(name, func(one *Driver) bool { return one.endpoint == endpoint }) {
		r.changed()
	}
}

func (r *Registry) changed() {
	r.recount.Send()
	r.config.Changed()
}
