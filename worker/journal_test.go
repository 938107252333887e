package worker

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
)

var update = flag.Bool("update", false, "write the golden files of journals anew")

// slowCgroups are made a moment after the volumes, which is else a matter of luck.
type slowCgroups struct{ noCgroups }

func (slowCgroups) Ensure(*v1.Pod) error {
	time.Sleep(time.Microsecond)
	return nil
}

// withJournal keeps the journal of the story's pods.
func (s *story) withJournal() journal.Folder {
	s.node.Cgroups = slowCgroups{}
	folder := journal.Folder{Dir: filepath.Join(s.TempDir(), "journal")}
	s.node.Folders.Journal = folder.Writers()
	return folder
}

// What golden files don't have: the runtime's IDs, which differ from run to run, and the rules,
// which no journal proves.
var (
	containerIDs = regexp.MustCompile(`containerID="[^"]*"`)
	rules        = regexp.MustCompile(` \[[AB]-[A-Z]+-[0-9]+\]`)
)

// compareJournal compares what the journal has of a pod with a golden file.
func (s *story) compareJournal(in journal.Folder, pod *v1.Pod, name string) *journal.Record {
	s.Helper()
	record := assert.Get(in.Read(string(pod.UID))).Must(s)
	var lines strings.Builder
	for _, e := range record.Entries {
		line := containerIDs.ReplaceAllString(e.Line(s.start), "containerID=…")
		lines.WriteString(rules.ReplaceAllString(line, "") + "\n")
	}
	path := filepath.Join("testdata", "journal", name+".txt")
	if *update {
		assert.Must(s, os.WriteFile(path, []byte(lines.String()), 0o600))
	}
	want := assert.Get(os.ReadFile(path)).Must(s)
	diff := cmp.Diff(string(want), lines.String())
	assert.True(s, diff == "", "journal of %s (-want +got):\n%s", name, diff)
	return record
}

// TestJournalOfARestart: every entry of a restart after a failed liveness probe says what
// led to it, back to the first failure.
func TestJournalOfARestart(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		in := s.withJournal()
		s.Command("main", "out=fine", "exit=1 out=sick", "exit=1 out=sick", "exit=1 out=sick", "out=fine")
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		pod.Spec.Containers[0].LivenessProbe = execProbe(10, "alive")
		web := s.run(pod)
		web.await("restarted", restarts(1))
		web.ends(30)
		record := s.compareJournal(in, pod, "liveness")
		if len(record.Ends) != 2 || record.Ends[0].Usage == nil || !strings.Contains(record.Ends[0].Chain[0].Line(s.start), "Probed main/0 failure failures=\"3\"") {
			t.Errorf("ends %+v", record.Ends)
		}
		assert.True(t, !record.Living && record.Left == 0, "living %v, %d entries left out", record.Living, record.Left)
		got := record.Now
		assert.True(t, got != nil && got.Stage == "gone", "now %+v", got)
	})
}

// TestJournalOfBackOff: what a timer begins follows from the decision that set it.
func TestJournalOfBackOff(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		in := s.withJournal()
		s.Program("main", "exit=1 after=1s", "exit=3 after=1s", "run")
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		web := s.run(pod)
		web.await("restarted twice", restarts(2))
		s.compareJournal(in, pod, "backoff")
		record, err := in.Read(string(pod.UID))
		assert.True(t, err == nil && record.Living, "the pod has no lifepod: %+v, %v", record, err)
	})
}

// TestJournalOfPull: how far a pull is is known while it lasts, and no longer.
func TestJournalOfPull(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		in := s.withJournal()
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		pod.Spec.Containers[0].ImagePullPolicy = v1.PullAlways
		web := s.run(pod)
		time.Sleep(5500 * time.Millisecond)
		pulls := func() []journal.Pull {
			synctest.Wait()
			record := assert.Get(in.Read(string(pod.UID))).Must(t)
			return record.Now.Pulls
		}
		got := pulls()
		assert.True(t, len(got) == 1 && got[0].Image == image && got[0].Elapsed == 5*time.Second, "pulls after 5.5 s: %+v", got)
		web.await("running", running)
		assert.Empty(t, pulls(), "pulls of a pod that runs")
	}, "slow PullImage by=10s")
}

// TestJournalOnAFullDisk: a journal that can't be written costs the pod nothing, and knows everything when it can be again.
func TestJournalOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	assert.Must(t, unix.Mount("tmpfs", disk, "tmpfs", 0, "size=8k"))
	defer func() { _ = unix.Unmount(disk, unix.MNT_DETACH) }()
	inStory(t, func(t *testing.T, s *story) {
		s.node.Folders.Journal = journal.Folder{Dir: disk}.Writers()
		s.Program("main", "exit=1 after=1s", "run")
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		web := s.run(pod)
		web.await("restarted", restarts(1))
		assert.ErrorIs(t, unix.ENOSPC, os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 64<<10), 0o600), "the disk is not full")
		assert.Must(t, unix.Mount("", disk, "", unix.MS_REMOUNT, "size=1m"))
		web.ends(30)
		r := assert.Get(journal.Folder{Dir: disk}.Read(string(pod.UID))).Must(t)
		assert.True(t, r.Left == 0 && len(r.Ends) > 0 && r.Ends[0].Exit.Code == 1 && r.Entries[0].ID == 1, "%d entries are left out, ends: %+v", r.Left, r.Ends)
		assert.Empty(t, s.Left(), "left behind")
	})
}

// TestJournalGoesOn: the journal of a pod whose lifepod was killed goes on with the next one,
// whose entries know what the first one began.
func TestJournalGoesOn(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		in := s.withJournal()
		s.Program("main", "exit=1 after=1s", "exit=1 after=1s", "run")
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		web := s.runMortal(pod)
		web.await("in back-off", waitingFor("CrashLoopBackOff"))
		web.kill()
		time.Sleep(3 * time.Second)
		web.resume()
		web.await("restarted twice", restarts(2))
		s.compareJournal(in, pod, "killed")
	})
}
