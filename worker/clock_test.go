package worker

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// wallClock is one that somebody sets.
type wallClock struct{ ahead time.Duration }

func (w *wallClock) now() time.Time { return time.Now().Add(w.ahead) }

func (w *wallClock) machine() lifecycle.Clock {
	return lifecycle.Clock{Boot: "this one", Started: time.Unix(1e9, 0).Add(w.ahead)}
}

// Setting the wall clock changes no back-off, whether lifepod is there to notice or
// not: what it would have been is what it is (A-SYNC-10, A-BO-3).
func TestBackOffWhenTheClockIsSet(t *testing.T) {
	for name, by := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour, "not at all": 0} {
		for _, killed := range []bool{false, true} {
			storyOf(t, name, func(t *testing.T, s *story) {
				wall := &wallClock{}
				s.node.Clock = Clock{Now: wall.now, Machine: wall.machine}
				s.Program("main", "exit=1 after=1s", "exit=1 after=1s", "run")
				pod := s.runMortal(podOf("web", v1.RestartPolicyAlways, "main"))
				second := pod.await("restarted", restarts(1))
				time.Sleep(5 * time.Second) // four of the ten of the back-off have passed
				if killed {
					pod.kill()
					wall.ahead = by
					pod.resume()
				} else {
					wall.ahead = by
					pod.worker.relist.Send() // something happens
				}
				third := pod.await("restarted twice", restarts(2))
				if got, want := third-second, 11025*time.Millisecond; got.Round(50*time.Millisecond) != want.Round(50*time.Millisecond) {
					t.Errorf("killed %t: restarted %v after the start before, want about %v", killed, got, want)
				}
			})
		}
	}
}

// What a snapshot says counts although the wall clock was set meanwhile: an exit whose
// event is lost is found as ever (A-SYNC-3, A-PLEG-4).
func TestSnapshotsWhenTheClockIsSet(t *testing.T) {
	for name, by := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		storyOf(t, name, func(t *testing.T, s *story) {
			wall := &wallClock{}
			s.node.Clock = Clock{Now: wall.now, Machine: wall.machine}
			s.Program("main", "exit=3 after=5s", "run")
			pod := s.run(podOf("web", v1.RestartPolicyAlways, "main"))
			time.Sleep(2 * time.Second)
			wall.ahead = by
			pod.worker.relist.Send()
			at, limit := pod.await("restarted", restarts(1)), 20*time.Second
			assert.True(t, at <= limit, "restarted after %v, want %v at the latest", at, limit)
		}, "lose STOPPED main")
	}
}
