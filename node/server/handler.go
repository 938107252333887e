package server

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SystemLogFolder is that of the machine's logs.
const SystemLogFolder = "/var/log"

// longestCopy is how long an answer to a query may take.
const longestCopy = 30 * time.Second

// SystemLogHandler answers requests below /logs/.
func SystemLogHandler(dir string, queries bool) http.Handler {
	files := http.FileServerFS(folder(dir))
	if !queries {
		return http.StripPrefix("/logs", files)
	}
	return http.StripPrefix("/logs", handler{folder: folder(dir), files: files})
}

type handler struct {
	folder folder
	files  http.Handler
}

// ServeHTTP answers a query, or a path if there is none (A-NODE-2).
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, errs := parse(r.URL.Query())
	switch {
	case len(errs) > 0:
		refuseQuery(w, http.StatusBadRequest, errs)
		return
	case q.empty():
		h.files.ServeHTTP(w, r)
		return
	case strings.Trim(r.URL.Path, "/") != "":
		http.Error(w, "path not allowed in query mode", http.StatusNotAcceptable)
		return
	}
	if errs := q.validate(h.exists); len(errs) > 0 {
		refuseQuery(w, http.StatusNotAcceptable, errs)
		return
	}
	if len(q.files) == 1 {
		at := r.Clone(r.Context())
		at.URL.Path = "/" + local(q.files[0])
		h.files.ServeHTTP(w, at)
		return
	}
	h.services(w, r, q)
}

func refuseQuery(w http.ResponseWriter, code int, errs field.ErrorList) {
	http.Error(w, errs.ToAggregate().Error(), code)
}

// local is a file's path below the folder: clients of Windows write it with backslashes.
func local(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}

// exists says whether the folder has a file.
func (h handler) exists(name string) error {
	file, err := h.folder.Open(local(name))
	if err == nil {
		return file.Close()
	}
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = &fs.PathError{Op: "statat", Path: name, Err: cause.Err}
	}
	return err
}

// services answers with what services have logged. Whatever goes wrong now is a line of it.
func (h handler) services(w http.ResponseWriter, r *http.Request, q query) {
	ctx, cancel := context.WithTimeout(r.Context(), longestCopy)
	defer cancel()
	w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
	var out io.Writer = w
	if r.Header.Get("Accept-Encoding") == "gzip" {
		w.Header().Set("Content-Encoding", "gzip")
		packed, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is one that there is
		defer func() { _ = packed.Close() }()               // a client that has gone needs no answer
		out = packed
	}
	h.copy(ctx, out, q)
}
