package server

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// systemLogs is the folder of the node's own logs.
const systemLogs = "/var/log"

func (s *Server) addSystemLogs(mux *http.ServeMux) {
	if !on(s.Kubelet.EnableSystemLogHandler) {
		mux.HandleFunc("/logs/", disabled("logs endpoint is disabled."))
		return
	}
	files := http.StripPrefix("/logs", http.FileServerFS(logFolder(systemLogs)))
	mux.Handle("GET /logs/", files)
}

// logFolder is a folder out of which no link leads: pods that may write into it
// could else have any file of the node read.
type logFolder string

// Open opens a file or folder below it. Links are followed as long as they stay
// below, also absolute ones, as those of /var/log/containers are.
func (f logFolder) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	folder, err := filepath.EvalSymlinks(string(f))
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(folder, name))
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Rel(folder, real)
	if err != nil || !filepath.IsLocal(inside) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()                                // only read
	file, err := root.OpenFile(inside, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe must not hold it up
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		_ = file.Close() // a pipe or device would hold the reader for ever
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return file, nil
}
