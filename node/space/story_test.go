package space

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/images"
)

// story is a node's disk in virtual time: 100 bytes, of which each image takes 10.
type story struct {
	*testing.T
	*crifake.Runtime
	config    CollectorConfig
	collector *Collector
	claims    *Claims
	pods      []*v1.Pod
	needSpace func() // may be nil
	cleared   int
	clearErr  error

	mu     sync.Mutex
	events []string
	stop   func()
}

func tell(t *testing.T, policy Policy, play func(*story)) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{T: t, Runtime: crifake.New()}
		s.Fill(func(d *crifake.Disk) { d.Capacity, d.Weight = 100, 10 })
		s.config = CollectorConfig{
			Policy: policy, Runtime: s.Runtime, Images: s.Runtime, Pods: s, History: filepath.Join(t.TempDir(), "images.json"),
			Carried: func(name string) bool { return strings.HasPrefix(name, "r.io/carried/") },
			Event:   s.event, Log: slog.New(slog.DiscardHandler),
			Statfs: func(path string) (Disk, error) {
				if path != crifake.DiskPath {
					return Disk{}, fmt.Errorf("no file system at %s", path)
				}
				capacity, available := s.Free()
				return Disk{Capacity: capacity, Available: available}, nil
			},
		}
		s.begin()
		defer func() { s.stop() }()
		play(s)
	})
}

// begin begins an agent; the one before was stopped.
func (s *story) begin() {
	s.claims = NewClaims(images.New(s.Runtime, images.Options{}), func() {})
	s.config.Claims = s.claims
	s.collector = NewCollector(s.config)
	s.stop = assert.Runs(s, s.collector.Run)
	s.passes(time.Second)
}

func (s *story) Using() []*v1.Pod                { return s.pods }
func (s *story) Owned(uid types.UID) bool        { return uid != "other" }
func (s *story) ClearDisk(context.Context) error { s.cleared++; return s.clearErr }

func (s *story) NeedSpace() {
	if s.needSpace != nil {
		s.needSpace()
	}
}

func (s *story) event(kind, reason, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf("%s %s %s", kind, reason, message))
}

func (s *story) passes(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// pull pulls images one after the other, as workers do, a minute apart.
func (s *story) pull(names ...string) {
	s.Helper()
	for _, name := range names {
		_, err := s.claims.Pull(s.Context(), images.PullRequest{Image: name})
		assert.Require(s, err == nil, "pull %s: %v", name, err)
		s.passes(time.Minute)
	}
}

// has are the images by their names.
func (s *story) has() (names []string) {
	answer := assert.Get(s.ListImages(s.Context(), nil)).Must(s)
	for _, image := range answer.Images {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(image.RepoTags[0], "r.io/"), ":1"))
	}
	return names
}

func (s *story) wantImages(want ...string) {
	s.Helper()
	got := s.has()
	assert.True(s, slices.Equal(got, want), "there are the images %q, want %q", got, want)
}

func (s *story) wantEvents(want ...string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.True(s, slices.Equal(s.events, want), "events %q, want %q", s.events, want)
	s.events = nil
}

// uses has a pod that needs images.
func (s *story) uses(names ...string) {
	pod := &v1.Pod{}
	for _, name := range names {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Image: name})
	}
	s.pods = append(s.pods, pod)
}

// container is one that the runtime has, with an image and image volumes.
func (s *story) container(uid, image string, volumes ...string) {
	sandbox := assert.Get(s.RunPodSandbox(s.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: uid, Uid: uid, Namespace: "default"},
	}})).Must(s)
	config := &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: image},
		Labels: map[string]string{"io.kubernetes.pod.uid": uid},
	}
	for _, volume := range volumes {
		config.Mounts = append(config.Mounts, &runtimeapi.Mount{Image: &runtimeapi.ImageSpec{Image: volume}})
	}
	assert.Must(s, assert.ErrorOf(s.CreateContainer(s.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: sandbox.PodSandboxId, Config: config})))
}

func name(i int) string { return fmt.Sprintf("r.io/%d:1", i) }

var kubernetes = Policy{HighPercent: 85, LowPercent: 80, MinAge: 2 * time.Minute}

// A pull that fills the disk beyond the high threshold has images removed at once, not only
// five minutes later, down to the low one: those that nobody uses, the least recently used
// first (B-GC-7).
func TestCollectsAfterAPull(t *testing.T) {
	tell(t, kubernetes, func(s *story) {
		s.pull(name(0), name(1), name(2), name(3), name(4), name(5), name(6), name(7))
		s.uses(name(0))
		assert.Must(t, assert.ErrorOf(s.claims.Inspect(s.Context(), name(1))))
		s.wantImages("0", "1", "2", "3", "4", "5", "6", "7")
		s.pull(name(8))
		s.wantImages("0", "1", "3", "4", "5", "6", "7", "8")
		s.wantEvents()
	})
}

// What any container uses stays, whoever it belongs to and whether it runs: its image and
// the images that it mounts; so do pinned images and the one of sandboxes (B-GC-7).
func TestKeepsWhatIsUsed(t *testing.T) {
	tell(t, kubernetes, func(s *story) {
		s.Fill(func(d *crifake.Disk) { d.Capacity = 200 })
		s.pull(name(0), name(1), name(2), name(3), name(4), name(5), name(6), name(7), "r.io/carried/8:1")
		s.Fill(func(d *crifake.Disk) { d.SandboxImage = name(7) })
		s.container("mine", "sha256:"+name(0), "sha256:"+name(1))
		s.container("other", name(2))
		s.Pin(name(3))
		s.uses("r.io/4:1@sha256:9", name(5))
		s.passes(imagePeriod)
		assert.NoError(t, s.collector.ReclaimImages(s.Context()))
		s.wantImages("0", "1", "2", "3", "4", "5", "7", "carried/8")
	})
}

// A pull that finds the disk full has images removed at once, so that the next try works,
// also if the disk was below the threshold, because the failed pull has given its space
// back (B-GC-7).
func TestCollectsWhenAPullFindsTheDiskFull(t *testing.T) {
	tell(t, kubernetes, func(s *story) {
		s.pull(name(0), name(1), name(2), name(3), name(4), name(5))
		s.Fill(func(d *crifake.Disk) { d.Weights = map[string]int64{"r.io/large:1": 45, "r.io/huge:1": 90} })
		_, err := s.claims.Pull(s.Context(), images.PullRequest{Image: "r.io/large:1"})
		assert.Require(t, err != nil, "an image that has no room was pulled")
		s.passes(time.Second)
		s.wantImages("2", "3", "4", "5")
		s.pull("r.io/large:1")
		s.passes(imagePeriod)
		for range 2 {
			_, err := s.claims.Pull(s.Context(), images.PullRequest{Image: "r.io/huge:1"})
			assert.Require(t, err != nil, "an image that has no room was pulled")
			s.passes(time.Second)
		}
		s.pull("r.io/huge:1")
		s.wantImages("huge")
		s.wantEvents()
	})
}

// While not enough can be freed, images are collected again before pulls have filled the disk: as
// each begins and ends, and as it takes space. Pods may have ended meanwhile (B-GC-7).
func TestCollectsBeforeTheDiskIsFull(t *testing.T) {
	fails := func(s *story) { // until the pause is the longest
		s.pull(name(0), name(1), name(2), name(3), name(4), name(5), name(6), name(7))
		s.uses(name(0), name(1), name(2), name(3), name(4), name(5), name(6), name(7))
		s.Fill(func(d *crifake.Disk) { d.Other = 10 })
		for range 10 {
			s.claims.changed.Send()
			s.passes(longestPause + time.Second)
		}
		s.claims.changed.Send()
		s.passes(time.Second)
		s.wantImages("0", "1", "2", "3", "4", "5", "6", "7")
	}
	slowPull := func(s *story, weight int64) (ended chan error) {
		s.Fill(func(d *crifake.Disk) { d.Weights = map[string]int64{name(8): weight} })
		s.Fault("slow PullImage by=10s")
		ended = make(chan error, 1)
		go func() {
			_, err := s.claims.Pull(s.Context(), images.PullRequest{Image: name(8)})
			ended <- err
		}()
		s.passes(3 * time.Second)
		s.pods = nil
		return ended
	}
	t.Run("a pull begins", func(t *testing.T) {
		tell(t, kubernetes, func(s *story) {
			fails(s)
			s.pods = nil
			for _, image := range []string{name(8), name(9)} {
				assert.Must(s, assert.ErrorOf(s.claims.Pull(s.Context(), images.PullRequest{Image: image})))
				s.passes(100 * time.Millisecond)
			}
		})
	})
	t.Run("a pull ends", func(t *testing.T) {
		tell(t, kubernetes, func(s *story) {
			fails(s)
			assert.Must(s, <-slowPull(s, 0))
			s.passes(100 * time.Millisecond)
			assert.True(s, len(s.has()) != 9, "no image was removed when the pull had ended")
		})
	})
	t.Run("a pull takes space", func(t *testing.T) {
		tell(t, kubernetes, func(s *story) {
			fails(s)
			ended := slowPull(s, 2)
			s.Fill(func(d *crifake.Disk) { d.Other = 12 })
			s.passes(2 * time.Second)
			assert.True(s, len(s.has()) != 9, "no image was removed while the pull took the last of the disk")
			assert.NoError(s, <-ended)
		})
	})
}

// An image that a pod looks at while it is about to be removed either stays, or is not
// found: the pod never goes on with an image that is gone (B-GC-7).
func TestRemovalAndLookExcludeEachOther(t *testing.T) {
	tell(t, kubernetes, func(s *story) {
		s.pull(name(0), name(1))
		s.passes(imagePeriod)
		s.Fault("slow RemoveImage by=10s")
		done := make(chan error, 1)
		go func() { done <- s.collector.ReclaimImages(context.Background()) }()
		s.passes(time.Second) // it removes the first, and has chosen the second with it
		found, err := s.claims.Inspect(s.Context(), name(1))
		assert.Require(t, err == nil && found != nil, "the second image: %v %v", found, err)
		found, err = s.claims.Inspect(s.Context(), name(0))
		assert.True(t, err == nil && found == nil, "an image that is being removed is found: %v %v", found, err)
		assert.NoError(t, <-done)
		s.wantImages("1")
	})
}

// If not enough can be freed, the Node has upstream's events: FreeDiskSpaceFailed at once,
// ImageGCFailed with the next failure, at most every five minutes; a file system without
// a size is InvalidDiskCapacity (B-GC-7).
func TestEventsOfFailures(t *testing.T) {
	tell(t, kubernetes, func(s *story) {
		const short = "Insufficient free disk space on the node's image filesystem (90% of 100 B used). " +
			"Failed to free sufficient space by deleting unused images (freed 0 bytes). " +
			"Investigate disk usage, as it could be used by active images, logs, volumes, or other data."
		s.Fill(func(d *crifake.Disk) { d.Other = 90 })
		s.passes(imagePeriod)
		s.wantEvents("Warning FreeDiskSpaceFailed " + short)
		s.claims.changed.Send()
		s.passes(time.Minute)
		s.wantEvents()
		s.passes(imagePeriod)
		s.wantEvents("Warning FreeDiskSpaceFailed "+short, "Warning ImageGCFailed "+short)
		s.Fill(func(d *crifake.Disk) { d.Other, d.Capacity = 0, 0 })
		s.passes(imagePeriod)
		s.wantEvents("Warning InvalidDiskCapacity invalid capacity 0 on image filesystem", "Warning ImageGCFailed invalid capacity 0 on image filesystem")
		s.Fill(func(d *crifake.Disk) { d.Capacity = 100 })
		s.passes(imagePeriod)
		s.wantEvents()
	})
}

// An image that can't be removed does not keep others; the failure is reported in upstream's
// words (B-GC-7).
func TestRemovalFails(t *testing.T) {
	tell(t, kubernetes, func(s *story) {
		s.pull(name(0), name(1), name(2))
		s.passes(imagePeriod)
		s.Fault("fail RemoveImage sha256:" + name(1))
		assert.ErrorContains(t, "with errors in image deletion: remove image r.io/1:1: injected fault", s.collector.ReclaimImages(s.Context()))
		s.wantImages("1")
	})
}

// Images idle for longer than the maximum age go whatever the disk, but not before an
// agent has watched for that long: what used them before is not known (B-GC-7).
func TestMaximumAge(t *testing.T) {
	policy := kubernetes
	policy.MaxAge = time.Hour
	tell(t, policy, func(s *story) {
		s.pull(name(0), name(1))
		s.uses(name(1))
		s.passes(50 * time.Minute)
		s.stop()
		s.begin()
		s.passes(59 * time.Minute)
		s.wantImages("0", "1")
		s.passes(2 * imagePeriod)
		s.wantImages("1")
	})
}

// Which images were used last is known to the next agent, which the kubelet forgets
// (B-GC-7).
func TestRemembersUses(t *testing.T) {
	tell(t, kubernetes, func(s *story) {
		s.pull(name(0), name(1), name(2), name(3), name(4), name(5), name(6), name(7))
		s.uses(name(0), name(1))
		s.passes(imagePeriod)
		s.pods = nil
		s.stop()
		s.begin()
		s.passes(imagePeriod)
		s.Fill(func(d *crifake.Disk) { d.Other = 40 })
		s.passes(imagePeriod)
		s.wantImages("0", "1", "6", "7")
	})
}

// What is left of pods that are gone is looked for every minute, and a failure is an event
// (B-GC-6).
func TestLooksForWhatPodsHaveLeft(t *testing.T) {
	tell(t, kubernetes, func(s *story) {
		before := s.cleared
		s.passes(3 * containerPeriod)
		assert.True(t, s.cleared-before == 3, "looked %d times in three minutes", s.cleared-before)
		s.wantEvents()
		s.clearErr = fmt.Errorf("the folder is busy")
		s.passes(containerPeriod)
		s.wantEvents("Warning ContainerGCFailed the folder is busy")
	})
}

// What dead containers held is back on the disk when they have been reclaimed, although the
// runtime gives it back a while after it has removed them (B-EVI-6).
func TestReclaimedSpaceIsThere(t *testing.T) {
	tell(t, kubernetes, func(s *story) {
		s.container("ended", "r.io/0:1")
		answer := assert.Get(s.ListContainers(s.Context(), &runtimeapi.ListContainersRequest{})).Must(t)
		id := answer.Containers[0].Id
		assert.Must(t, assert.ErrorOf(s.StartContainer(s.Context(), &runtimeapi.StartContainerRequest{ContainerId: id})))
		s.Exit("ended/main", 0)
		s.Fill(func(d *crifake.Disk) { d.Other = 90 })
		s.needSpace = func() {
			assert.NoError(t, assert.ErrorOf(s.RemoveContainer(s.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: id})))
		}
		s.stop()
		s.config.GiveBack = func(context.Context) error {
			s.Fill(func(d *crifake.Disk) { d.Other = 10 })
			return nil
		}
		s.begin()
		assert.Must(t, s.collector.ReclaimContainers(s.Context()))
		_, available := s.Free()
		assert.True(t, available == 90, "%d are available, want 90", available)
	})
}

// With a high threshold of 100 % and no maximum age images are only removed on request
// (B-GC-7).
func TestOff(t *testing.T) {
	tell(t, Policy{HighPercent: 100, LowPercent: 80}, func(s *story) {
		s.pull(name(0))
		s.Fill(func(d *crifake.Disk) { d.Other = 90 })
		s.passes(time.Hour)
		s.wantImages("0")
		assert.NoError(t, s.collector.ReclaimImages(s.Context()))
		s.wantImages()
	})
}

// A node on which 10,000 pods come and go, with 50 images of which ten fit, never fails
// for want of space (B-GC-7).
func TestChurn(t *testing.T) {
	policy := kubernetes
	policy.MinAge = time.Second
	tell(t, policy, func(s *story) {
		s.stop()
		s.config.History = "" // which takes a while to be written that often
		s.begin()
		for pod := range 10_000 {
			image := name(pod * 7 % 50)
			s.uses(image)
			if len(s.pods) > 3 {
				s.pods = s.pods[1:]
			}
			found, err := s.claims.Inspect(s.Context(), image)
			if err == nil && found == nil {
				_, err = s.claims.Pull(s.Context(), images.PullRequest{Image: image})
			}
			assert.Require(t, err == nil, "pod %d: %v", pod, err)
			found, err = s.claims.Inspect(s.Context(), image)
			assert.Require(t, err == nil && found != nil, "pod %d: its image is gone before its container is created: %v", pod, err)
			time.Sleep(time.Second)
		}
		s.wantEvents()
	})
}

// Each collection is a span (A-TRC-7).
func TestTraces(t *testing.T) {
	tell(t, Policy{HighPercent: 85, LowPercent: 80}, func(s *story) {
		var names []string
		s.stop()
		s.config.Span = func(ctx context.Context, name string) (context.Context, func()) {
			return ctx, func() { names = append(names, name) }
		}
		s.begin()
		assert.Deep(t, "spans", []string{"Containers/GarbageCollect", "Images/GarbageCollect"}, names)
	})
}
