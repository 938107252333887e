package node

import (
	"fmt"
	"net/http"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/publish"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
)

// sources are where the pods of a node come from; nil is one that it does not have.
type sources struct {
	file *source.File
	url  *source.HTTP
	api  *source.API
}

func (s *setup) newSources(shell *pods.Shell, c *cluster, files *source.Objects) (all sources) {
	k, record := s.config.Kubelet, source.Record(nil)
	if c != nil {
		record = c.Pod
	}
	if k.StaticPodPath != "" {
		all.file = &source.File{
			Objects: files, Path: k.StaticPodPath, NodeName: s.name, Strict: s.options.Manifests != "", Period: k.FileCheckFrequency.Duration,
			Feed: shell, ObjectsChanged: fileObjects{shell}.changed, Record: record, Log: s.log,
		}
	}
	if k.StaticPodURL != "" {
		all.url = &source.HTTP{
			URL: k.StaticPodURL, Header: http.Header(k.StaticPodURLHeader), NodeName: s.name,
			Period: k.HTTPCheckFrequency.Duration, Feed: shell, Record: record, Log: s.log,
		}
	}
	if c != nil {
		all.api = &source.API{
			Client: c.client, NodeName: s.name, Feed: publish.Feed{Pods: shell, Statuses: c.statuses},
			Mirrors: publish.MirrorFeed{Mirrors: c.mirrors, Statuses: c.statuses}, Log: s.log,
		}
	}
	return all
}

// origins are the sources that are heard before any pod is ended.
func (s *setup) origins() []roster.Source {
	var list []roster.Source
	if s.config.Kubelet.StaticPodPath != "" {
		list = append(list, roster.File)
	}
	if s.config.Kubelet.StaticPodURL != "" {
		list = append(list, roster.URL)
	}
	if s.options.inCluster() {
		list = append(list, roster.API)
	}
	return list
}

// fileObjects are those of the files of static pods.
type fileObjects struct{ pods *pods.Shell }

// changed tells the static pods of a namespace.
func (f fileObjects) changed(namespace string, names []string) {
	for _, pod := range f.pods.Pods() {
		if pod.Namespace == namespace && source.IsStatic(pod) {
			f.pods.ObjectsChanged(pod.UID, lifecycle.Because{Kind: lifecycle.BecauseChanged, Text: fmt.Sprint(names)})
		}
	}
}
