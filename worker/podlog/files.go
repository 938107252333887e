package podlog

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Files are the files of one instance's log in the order they were written,
// each once, however the log is rotated meanwhile (B-LOG-1). Call Look when the
// folder has changed: a file that is open may be renamed and removed. Close them.
// Not safe for concurrent use.
type Files struct {
	path    string
	current *os.File // the newest file that was returned as current, kept so that it can be known again; nil before the first
	inode   uint64   // of that, 0 before the first
	known   string   // the newest stamp there was while that was the current one
	missed  bool     // files may have been removed before they could be returned
}

// NewFiles are the files of a log from its first one that is left.
func NewFiles(path string) *Files { return &Files{path: path} }

// File is one of them.
type File struct {
	io.Reader
	File *os.File // Close it; its content may be compressed
}

// Close ends the use of Files; what Look has returned stays open.
func (f *Files) Close() {
	if f.current != nil {
		_ = f.current.Close() // only read
	}
}

// Missed says that files may have been removed before a Look: the one that was
// current at the Look before is not there any more.
func (f *Files) Missed() bool { return f.missed }

// Look opens the files that have come since the last time. While the log has
// been renamed and not yet opened anew there is nothing new: it is being
// written on under its other name.
func (f *Files) Look() ([]File, error) {
	for {
		current, err := OpenFile(f.path)
		if errors.Is(err, os.ErrNotExist) && f.inode == 0 {
			return f.onlyRotated()
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		files, settled, err := f.upTo(current)
		if settled {
			return files, err
		}
	}
}

// upTo are the new files up to the current one. It is not settled when the log
// was rotated meanwhile, because what was listed may be newer then.
func (f *Files) upTo(current *os.File) (files []File, settled bool, err error) {
	inode := inodeOf(current)
	if inode == f.inode {
		return nil, true, current.Close()
	}
	older, err := Rotated(f.path)
	if err != nil {
		_ = current.Close() // only read
		return nil, true, err
	}
	files, stamp, missed := f.open(older)
	files = append(files, File{Reader: current, File: current})
	now, err := os.Lstat(f.path)
	settled = err == nil && now.Sys().(*syscall.Stat_t).Ino == inode
	if settled {
		err = f.keep(current)
	}
	if !settled || err != nil {
		for _, file := range files {
			_ = file.File.Close() // only read
		}
		return nil, settled, err
	}
	f.known, f.missed = stamp, f.missed || missed
	return files, true, nil
}

// keep remembers the file that is current. While it is open its inode is no
// other file's.
func (f *Files) keep(current *os.File) error {
	fd, err := unix.FcntlInt(current.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "dup", Path: current.Name(), Err: err}
	}
	f.Close()
	f.inode, f.current = inodeOf(current), os.NewFile(uintptr(fd), current.Name())
	return nil
}

// open opens what was rotated since the last look, but for the first of them if
// that is the file that was current then. missed says that it is not, or that one
// could not be opened.
func (f *Files) open(older []string) (files []File, newest string, missed bool) {
	newest = f.known
	own := f.inode == 0 // nothing of it was returned yet
	for _, path := range older {
		stamp := Stamp(f.path, path)
		if stamp <= f.known {
			continue
		}
		newest = stamp
		if !own {
			own = true
			if f.returned(path) {
				continue
			}
			missed = true
		}
		file, err := openRotated(path)
		if err != nil {
			missed = true
			continue
		}
		files = append(files, file)
	}
	if f.inode == 0 && len(files) > 0 {
		if begun, err := openBegun(f.path, older[0]); err == nil {
			files = slices.Insert(files, 0, begun)
		}
	}
	return files, newest, missed
}

// returned says whether the first file after the known ones is the one that was
// current at the last look. Another one is it only if that has been removed.
func (f *Files) returned(path string) bool {
	file, err := openRotated(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist) // it was removed just now, which the next listing shows
	}
	defer func() { _ = file.File.Close() }() // only read
	if file.Reader == io.Reader(file.File) {
		return inodeOf(file.File) == f.inode
	}
	return beginning(file.Reader) == beginning(io.NewSectionReader(f.current, 0, comparedBytes))
}

// comparedBytes is how many bytes tell one file from another: its first record has its time.
const comparedBytes = 4 << 10

func beginning(r io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(r, comparedBytes)) // what can be read is compared
	return string(text)
}

// onlyRotated is the beginning of a log that has been renamed and not been
// opened anew yet: its newest file is the one that is being written.
func (f *Files) onlyRotated() ([]File, error) {
	older, err := Rotated(f.path)
	if err != nil || len(older) == 0 {
		return nil, err
	}
	files, _, missed := f.open(older)
	if len(files) == 0 {
		return nil, nil
	}
	if err := f.keep(files[len(files)-1].File); err != nil {
		for _, file := range files {
			_ = file.File.Close() // only read
		}
		return nil, err
	}
	f.missed = f.missed || missed
	if len(older) > 1 {
		f.known = Stamp(f.path, older[len(older)-2])
	}
	return files, nil
}

// OpenFile opens a plain file of a log. A pod may have the folder of logs as a hostPath: it must have nothing
// else of the machine read, or written, in a log's place.
func OpenFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, noFile(path)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = noFile(path)
	}
	if err != nil {
		_ = file.Close() // only read
		return nil, err
	}
	return file, nil
}

func noFile(path string) error {
	return fmt.Errorf("%s is no regular file: it is not read as a log", path)
}

// openRotated opens a rotated file, also if it was compressed just now.
func openRotated(path string) (File, error) {
	file, err := OpenFile(path)
	if errors.Is(err, os.ErrNotExist) && !strings.HasSuffix(path, Compressed) {
		path += Compressed
		file, err = OpenFile(path)
	}
	if err != nil {
		return File{}, err
	}
	if !strings.HasSuffix(path, Compressed) {
		return File{Reader: file, File: file}, nil
	}
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		_ = file.Close() // only read
		return File{}, err
	}
	return File{Reader: unpacked, File: file}, nil
}

func inodeOf(f *os.File) uint64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// StatusOf is a container's status, nil if there is none yet.
func StatusOf(pod *v1.Pod, container string) *v1.ContainerStatus {
	for _, status := range lifecycle.ContainerStatuses(&pod.Status) {
		if status.Name == container {
			return status
		}
	}
	return nil
}

// Instances are the restart counts of the instances whose log is wanted, the
// first of which there is a log is the one: of a container that waits to be
// restarted it is the last one. The errors are the kubelet's.
func Instances(pod *v1.Pod, container string, previous bool) ([]int, error) {
	status := StatusOf(pod, container)
	if status == nil {
		return nil, fmt.Errorf("container %q in pod %q is not available", container, pod.Name)
	}
	waiting, last, newest := status.State.Waiting, status.LastTerminationState.Terminated, int(status.RestartCount)
	switch {
	case previous && last == nil:
		return nil, fmt.Errorf("previous terminated container %q in pod %q not found", container, pod.Name)
	case previous && (waiting == nil || status.ContainerID != "" && status.ContainerID != last.ContainerID):
		return []int{newest - 1}, nil // the newest runs, or has been created and is about to start: its log may be there, and is empty
	case last != nil && waiting != nil && newest > 0:
		return []int{newest, newest - 1}, nil
	case last == nil && waiting != nil:
		return nil, fmt.Errorf("container %q in pod %q is waiting to start: %s", container, pod.Name, waitsFor(waiting))
	}
	return []int{newest}, nil
}

func waitsFor(w *v1.ContainerStateWaiting) string {
	switch w.Reason {
	case "ErrImagePull":
		return "image can't be pulled"
	case "ImagePullBackOff":
		return "trying and failing to pull image"
	}
	return w.Reason
}

// Ended says that a pod's status knows of an instance's end. One that is just
// being started does not run yet either.
func Ended(pod *v1.Pod, container string, instance int) bool {
	status := StatusOf(pod, container)
	if status == nil {
		return false
	}
	waiting := status.State.Waiting
	return int(status.RestartCount) > instance || status.State.Terminated != nil ||
		waiting != nil && waiting.Reason == "CrashLoopBackOff"
}
