package volumes

import (
	"errors"
	"maps"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// projected makes a volume of several sources, in memory as Kubernetes does. All
// that is wrong with them is told at once.
func (p preparer) projected(dir string, volume *v1.Volume) error {
	files, failures := payload{}, []error(nil)
	for i := range volume.Projected.Sources {
		one, err := p.projection(&volume.Projected.Sources[i], volume.Projected.DefaultMode)
		if err != nil {
			failures = append(failures, err)
		}
		maps.Copy(files, one)
	}
	if err := utilerrors.NewAggregate(failures); err != nil {
		return err
	}
	if err := p.memoryDir(dir, 0); err != nil {
		return err
	}
	return p.write(dir, volume.Name, files)
}

// projection has the files of one source.
func (p preparer) projection(source *v1.VolumeProjection, defaultMode *int32) (payload, error) {
	switch {
	case source.ConfigMap != nil:
		c := source.ConfigMap
		return p.configMapFiles(&v1.ConfigMapVolumeSource{LocalObjectReference: c.LocalObjectReference, Items: c.Items, Optional: c.Optional, DefaultMode: defaultMode})
	case source.Secret != nil:
		s := source.Secret
		return p.secretFiles(&v1.SecretVolumeSource{SecretName: s.Name, Items: s.Items, Optional: s.Optional, DefaultMode: defaultMode})
	case source.DownwardAPI != nil:
		return p.downwardFiles(source.DownwardAPI.Items, defaultMode)
	}
	return nil, errors.New("only configMap, secret and downwardAPI can be projected: tokens, trust bundles and certificates come from an API server, and there is none")
}
