package run

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/worker/podlog"
)

// logFlags are the kubelet's containerLogMaxSize and containerLogMaxFiles.
type logFlags struct {
	maxSize  string
	maxFiles int
}

func (f *logFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.maxSize, "log-max-size", "10Mi", "rotate a container's log when it exceeds this `quantity` of bytes (containerLogMaxSize)")
	flags.IntVar(&f.maxFiles, "log-max-files", podlog.DefaultRotation().MaxFiles, "log files kept of one container, at least 2 (containerLogMaxFiles)")
}

func (f *logFlags) policy(to *podlog.RotationPolicy) error {
	size, err := resource.ParseQuantity(f.maxSize)
	if err != nil || size.Value() < 1 {
		return fmt.Errorf("--log-max-size %q: want a quantity of bytes above 0, such as 10Mi", f.maxSize)
	}
	if f.maxFiles < 2 {
		return fmt.Errorf("--log-max-files %d: want at least 2, the file that is written and the one before it", f.maxFiles)
	}
	*to = podlog.RotationPolicy{MaxBytes: size.Value(), MaxFiles: f.maxFiles}
	return nil
}
