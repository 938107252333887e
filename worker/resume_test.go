package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// mortal is a pod whose lifepod can be killed, and its checkpoint's file.
type mortal struct {
	*life
	pod  *v1.Pod
	path string
	kill func() // of the lifepod that has it now
}

func (s *story) runMortal(pod *v1.Pod) *mortal {
	m := &mortal{pod: pod, path: filepath.Join(s.TempDir(), "checkpoint")}
	m.life = s.newLife()
	m.leads(s.node.NewWorker(pod, m.life))
	return m
}

func (m *mortal) leads(w *Worker) {
	ctx, cancel := context.WithCancel(m.ctx)
	w.Remember(NewCheckpointFile(m.path))
	m.begin(ctx, w)
	m.kill = func() {
		cancel()
		synctest.Wait()
	}
}

// resume starts another lifepod, which goes on with the pod.
func (m *mortal) resume() {
	m.Helper()
	from := assert.Get(LoadCheckpoint(m.path)).Must(m)
	m.life = m.newLife()
	m.leads(assert.Get(m.node.ResumeWorker(m.pod, m.life, from)).Must(m))
}

// After a kill of lifepod no call is made for a healthy pod, its status is told
// anew as it was, and what happens to it later is seen (B-RST-1, B-RST-6).
func TestResumeTouchesNothing(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.Program("main", "exit=1 after=1m", "run term=1s")
		pod := s.runMortal(podOf("web", v1.RestartPolicyAlways, "main"))
		pod.await("running", running)
		before, acted := pod.last(), len(s.Acted())
		pod.kill()
		time.Sleep(30 * time.Second)
		pod.resume()
		pod.await("running", running)
		diff := cmp.Diff(before, pod.last(), cmpopts.EquateEmpty())
		assert.True(t, diff == "", "status (-before +after):\n%s", diff)
		time.Sleep(20 * time.Second)
		assert.Empty(t, s.Acted()[acted:], "calls after the resume")
		pod.await("restarted", restarts(1))
		pod.ends(30)
	})
}

// Killed again and again at any moment, with calls under way that are carried
// out or not, a pod comes to run, is never doubled, and leaves nothing behind.
func TestResumeAtAnyMoment(t *testing.T) {
	for seed := range uint64(lives) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				s := newStory(t, randomFaults(random)...)
				s.Program("main", "exit=1 after=300ms", "run term=1s")
				s.Program("side", "exit=0 after=100ms", "run term=ignore")
				pod := s.runMortal(podOf("web", v1.RestartPolicyAlways, "main", "side"))
				ends := random.IntN(3) == 0
				for n := range 1 + random.IntN(6) {
					time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
					if ends && n > 1 {
						pod.stop(int64(random.IntN(20)))
						time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
					}
					pod.kill()
					if err := <-pod.done; err == nil {
						return // it is gone
					}
					time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
					pod.resume()
				}
				if !ends {
					pod.await("both running", allRun)
				}
				pod.ends(10)
				left := s.Left()
				assert.True(t, len(left) == 0, "left behind: %q; calls %q", left, s.Acted())
			})
		})
	}
}

// forgetful can't be saved to, as a full disk.
type forgetful struct{ saves, syncs, until, works int }

func (f *forgetful) Save(lifecycle.Checkpoint) error {
	f.saves++
	if f.saves > f.until || f.works > 0 && f.saves%f.works == 0 {
		return nil
	}
	return errors.New("no space left on device")
}

func (f *forgetful) Sync() error {
	f.syncs++
	if f.saves > f.until {
		return nil
	}
	return errors.New("nothing was saved")
}

// reports are told to a life that listens.
type reports struct {
	*life
	texts []string
}

func (r *reports) Report(_ time.Time, report lifecycle.Report) {
	r.texts = append(r.texts, report.String())
}

// A disk that is full, or all but full, is reported once and stops no pod.
func TestNothingCanBeSaved(t *testing.T) {
	for _, works := range []int{0, 2} {
		nothingCanBeSaved(t, works)
	}
}

// nothingCanBeSaved but each works-th time, if that is above 0.
func nothingCanBeSaved(t *testing.T, works int) {
	inStory(t, func(t *testing.T, s *story) {
		l := &reports{life: s.newLife()}
		w := s.node.NewWorker(podOf("web", v1.RestartPolicyNever, "main"), l)
		w.Remember(&forgetful{until: 1000, works: works})
		s.Program("main", "exit=0 after=1s")
		l.begin(s.ctx, w)
		l.gone()
		logged := 0
		for _, text := range l.texts {
			if strings.Contains(text, "can't be remembered: no space left on device") {
				logged++
			}
		}
		assert.True(t, logged == 1 && l.last().Phase == v1.PodSucceeded, "told %d times, phase %s", logged, l.last().Phase)
	})
}

// A status that must be confirmed is confirmed when it is on disk, and refused
// when it is not (B-RAC-23).
func TestConfirm(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		w := s.node.NewWorker(podOf("web", v1.RestartPolicyNever, "main"), &life{story: s})
		disk := &forgetful{until: 1, saves: 1}
		w.Remember(disk)
		for _, want := range []string{"nothing was saved", ""} {
			w.confirm(7)
			synctest.Wait()
			got, message := w.mail.Take()[0].(lifecycle.Published), ""
			if got.Failure != nil {
				message = got.Failure.Message
			}
			assert.True(t, got.ID == 7 && message == want, "got %+v %q, want %q", got, message, want)
			disk.saves++
		}
		assert.True(t, disk.syncs == 2, "synced %d times", disk.syncs)
	})
}
