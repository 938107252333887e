package crilog

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
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
		current, err := os.Open(f.path)
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
	files, stamp := f.open(older)
	now, err := os.Stat(f.path)
	if err != nil || now.Sys().(*syscall.Stat_t).Ino != inode {
		for _, file := range append(files, File{File: current}) {
			_ = file.File.Close() // only read
		}
		return nil, false, nil
	}
	f.keep(current)
	f.known = stamp
	return append(files, File{Reader: current, File: current}), true, nil
}

// keep remembers the file that is current. While it is open its inode is no
// other file's.
func (f *Files) keep(current *os.File) {
	f.Close()
	f.inode, f.current = inodeOf(current), nil
	if fd, err := unix.FcntlInt(current.Fd(), unix.F_DUPFD_CLOEXEC, 0); err == nil {
		f.current = os.NewFile(uintptr(fd), current.Name())
	}
}

// open opens what was rotated since the last look, but for the first of them:
// that is the file that was current then.
func (f *Files) open(older []string) (files []File, newest string) {
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
			f.missed = true
		}
		if file, err := openRotated(path); err == nil {
			files = append(files, file)
		}
	}
	return files, newest
}

// returned says whether the first file after the known ones is the one that was
// current at the last look. Another one is it only if that has been removed.
func (f *Files) returned(path string) bool {
	file, err := openRotated(path)
	if err != nil {
		return true // it was removed just now
	}
	defer func() { _ = file.File.Close() }() // only read
	if file.Reader == io.Reader(file.File) {
		return inodeOf(file.File) == f.inode
	}
	return f.current == nil || beginning(file.Reader) == beginning(io.NewSectionReader(f.current, 0, told))
}

// told is how many bytes tell one file from another: its first record has its time.
const told = 4 << 10

func beginning(r io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(r, told)) // what can be read is compared
	return string(text)
}

// onlyRotated is the beginning of a log that has been renamed and not been
// opened anew yet: its newest file is the one that is being written.
func (f *Files) onlyRotated() ([]File, error) {
	older, err := Rotated(f.path)
	if err != nil || len(older) == 0 {
		return nil, err
	}
	files, _ := f.open(older)
	if len(files) == 0 {
		return nil, nil
	}
	f.keep(files[len(files)-1].File)
	if len(older) > 1 {
		f.known = Stamp(f.path, older[len(older)-2])
	}
	return files, nil
}

// openRotated opens a rotated file, also if it was compressed just now.
func openRotated(path string) (File, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) && !strings.HasSuffix(path, Compressed) {
		path += Compressed
		file, err = os.Open(path)
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
