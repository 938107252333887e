package volumes

import (
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/worker/criconfig"
)

// downwardAPI makes a volume of the pod's own fields, in memory as Kubernetes does.
func (p preparer) downwardAPI(dir string, volume *v1.Volume) error {
	files, err := p.downwardFiles(volume.DownwardAPI.Items, volume.DownwardAPI.DefaultMode)
	if err != nil {
		return err
	}
	if err := p.memoryDir(dir, 0); err != nil {
		return err
	}
	return p.write(dir, volume.Name, files)
}

func (p preparer) downwardFiles(items []v1.DownwardAPIVolumeFile, defaultMode *int32) (payload, error) {
	var failures []error
	files := payload{}
	for i := range items {
		content, err := criconfig.DownwardFile(p.pod, &items[i], p.sources.Allocatable)
		if err != nil {
			failures = append(failures, err)
		}
		mode := ptr.Deref(items[i].Mode, ptr.Deref(defaultMode, v1.DownwardAPIVolumeSourceDefaultMode))
		files[filepath.Clean(items[i].Path)] = file{data: []byte(content), mode: fileMode(mode)}
	}
	return files, utilerrors.NewAggregate(failures)
}
