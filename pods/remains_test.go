package pods

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// When the node needs space, what pods can spare of their dead containers goes: all of a
// pod that has ended, and the exited instances of one that lives, whose restart count and
// last state stay (B-GC-1, B-GC-8).
func TestSpaceNeeded(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("ended/main", "run exit=0 after=1s")
		s.Program("crashes/main", "run exit=1 after=1s", "run exit=1 after=1s", "run")
		s.begins(podOf("ended", never), podOf("crashes"), podOf("runs"))
		remains := Remains{s.pods}
		names := func() (list []string) {
			for _, pod := range remains.Using() {
				list = append(list, pod.Name)
			}
			return list
		}
		assert.Deep(t, "pods that may create containers", []string{"crashes", "runs"}, names())
		remains.NeedSpace()
		s.settle()
		want := []string{"sandbox crashes attempt=0 ready", "sandbox runs attempt=0 ready", "runs/main attempt=0 running"}
		got := s.Left()
		slices.Sort(want)
		slices.Sort(got)
		assert.Deep(t, "the runtime has", want, got)
		time.Sleep(time.Minute)
		s.settle()
		status := s.status("uid-crashes").ContainerStatuses[0]
		assert.True(t, status.State.Running != nil && status.RestartCount == 2 && status.LastTerminationState.Terminated != nil,
			"crashes goes on as %+v", status)
		assert.Equal(t, v1.PodSucceeded, s.phase("ended"), "ended")
	})
}

// Folders, logs and links of pods that are gone are removed, those of others and of pods
// that still run stay; nothing is removed before all sources were heard (B-GC-5).
func TestClearDisk(t *testing.T) {
	tell(t, func(s *story) {
		s.apply(podOf("runs"))
		remains := Remains{s.pods}
		dirs := []string{"pods/gone/volumes", "pods/uid-runs", "logs/default_gone_gone", "logs/default_runs_uid-runs", "logs/other", "links"}
		for _, dir := range dirs {
			assert.Must(t, os.MkdirAll(filepath.Join(s.dir, dir), 0o755))
		}
		for name, target := range map[string]string{"gone_default_main-0123.log": "/not/there", "elsewhere_default_main-0456.log": s.dir} {
			assert.Must(t, os.Symlink(target, filepath.Join(s.dir, "links", name)))
		}
		there := func() (list []string) {
			for _, path := range append(dirs, "links/gone_default_main-0123.log", "links/elsewhere_default_main-0456.log") {
				if _, err := os.Lstat(filepath.Join(s.dir, path)); err == nil {
					list = append(list, path)
				}
			}
			return list
		}
		all := there()
		assert.NoError(t, remains.ClearDisk(s.Context()))
		assert.Deep(t, "removed before all sources were heard", all, there())
		s.heard()
		assert.NoError(t, remains.ClearDisk(s.Context()))
		want := []string{"pods/uid-runs", "logs/default_runs_uid-runs", "logs/other", "links", "links/elsewhere_default_main-0456.log"}
		assert.Deep(t, "left on the disk", want, there())
	})
}

// A pod that is wanted again, by the same UID, just when what is left of its last life is
// removed, keeps its files: they are the new life's (B-GC-5).
func TestClearDiskOfAPodThatBeginsAgain(t *testing.T) {
	for _, dir := range []string{"pods/uid-again", "logs/default_again_uid-again"} {
		tell(t, func(s *story) {
			s.heard()
			assert.Must(t, os.MkdirAll(filepath.Join(s.dir, dir), 0o755))
			before := s.pods.files.queue("uid-again")
			cleared := make(chan error, 1)
			go func() { cleared <- Remains{s.pods}.ClearDisk(s.Context()) }()
			synctest.Wait() // it has seen that the pod is not known
			s.apply(podOf("again"))
			s.settle()
			before(func() {})
			assert.NoError(t, <-cleared)
			assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(s.dir, dir))), "B-GC-5")
			s.settle()
			s.wantPhase("again", v1.PodRunning)
		})
	}
}
