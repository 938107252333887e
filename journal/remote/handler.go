package remote

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"

	"github.com/lifepod/lifepod/journal"
)

// Path is where a journal is served.
const Path = "/journal"

// Handler serves a journal at Path and below.
func Handler(from journal.Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, _ *http.Request) {
		pods, err := from.Pods()
		if len(pods) > 0 {
			err = nil // those that can be read are reported
		}
		answer(w, pods, err)
	})
	mux.HandleFunc("GET "+Path+"/{uid}", func(w http.ResponseWriter, r *http.Request) {
		record, err := from.Read(r.PathValue("uid"))
		answer(w, record, err)
	})
	return mux
}

func answer(w http.ResponseWriter, value any, err error) {
	var content []byte
	if err == nil {
		content, err = json.Marshal(value)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "the journal has no such pod", http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(content) // a client that has gone needs no answer
	}
}
