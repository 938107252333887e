package node

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/objects"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/volumes"
)

// uses are what pods use that others write: an API server's objects, or those of the
// files of static pods.
type uses struct {
	cluster *cluster         // nil without one
	objects *objects.Objects // nil without a cluster
	files   *source.Objects
}

func (s *setup) newUses(ctx context.Context, c *cluster, node *register.Node, inbox *pods.Inbox) uses {
	u := uses{cluster: c, files: &source.Objects{}}
	if c != nil {
		u.objects = objects.New(ctx, objects.Options{
			Client: c.client, Log: s.log, Changed: inbox.ObjectsChanged,
			NodeLabels:      func() (map[string]string, error) { return node.Node().Labels, nil },
			PodCertificates: config.Enabled(s.config.Kubelet, config.PodCertificateRequest), Node: node.Node, Warn: c.warn,
		})
		s.counts.PodCertificates(u.objects.States)
		u.giveVolumes(inbox)
	}
	return u
}

// api is what the pods' workers have of it; count counts what is done for volumes.
func (u uses) api(count func(volumes.Operation)) worker.API {
	if u.cluster == nil {
		return worker.API{Objects: u.of, VolumeOperation: count}
	}
	return worker.API{
		Objects: u.of, RuntimeClasses: u.cluster.classes, Services: u.cluster.services, Volumes: u.objects, Claims: u.cluster.claims, CSI: u.cluster.volumes,
		VolumeOperation: count,
	}
}

// assigners give containers their devices.
func (u uses) assigners() []worker.Assigner {
	if u.cluster == nil {
		return nil
	}
	return []worker.Assigner{u.cluster.claims}
}

// healthOfClaims is how the devices are that a pod has by resource claims.
func (u uses) healthOfClaims(pod *v1.Pod) map[string][]v1.ResourceStatus {
	if u.cluster == nil {
		return nil
	}
	return u.cluster.claims.Health(pod)
}

// of are the objects that a pod may use: of the files beside it, or of the cluster
// (B-STA-9).
func (u uses) of(pod *v1.Pod) worker.Objects {
	switch {
	case source.IsStatic(pod):
		return u.files
	case u.objects != nil:
		return u.objects
	}
	return &source.Objects{} // none
}

// serviceAccounts are nil without a cluster.
func (u uses) serviceAccounts() objects.ServiceAccounts {
	if u.cluster == nil {
		return nil
	}
	return objects.APIServiceAccounts{Client: u.cluster.client, Tokens: u.objects}
}
