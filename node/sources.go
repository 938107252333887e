package node

import (
	"fmt"
	"net/http"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/node/podstatus"
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
			Objects: files, Path: k.StaticPodPath, NodeName: s.name, Period: k.FileCheckFrequency.Duration,
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
			Client: c.client, NodeName: s.name, Feed: apiFeed{pods: shell, statuses: c.statuses},
			Mirrors: mirrorFeed{mirrors: c.mirrors, statuses: c.statuses}, Log: s.log,
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
			f.pods.ObjectsChanged(pod.UID, fmt.Sprintf("%v changed", names))
		}
	}
}

// apiFeed lets the status writer know what the API has, before anything is done
// with it.
type apiFeed struct {
	pods     *pods.Shell
	statuses *podstatus.Writer
}

// Wanted is a pod of the API.
func (f apiFeed) Wanted(origin roster.Source, pod *v1.Pod) {
	f.statuses.Live(pod)
	f.pods.Wanted(origin, pod)
}

// Unwanted is a pod that the API has no longer.
func (f apiFeed) Unwanted(origin roster.Source, uid types.UID) {
	if pod, found := f.pods.PodByUID(uid); found {
		f.statuses.Gone(pod)
	}
	f.pods.Unwanted(origin, uid)
}

// Heard says that all pods of the API were told.
func (f apiFeed) Heard(origin roster.Source) { f.pods.Heard(origin) }

// mirrorFeed is the same for mirror pods.
type mirrorFeed struct {
	mirrors  *source.Mirrors
	statuses *podstatus.Writer
}

// MirrorSeen is a mirror pod as the API has it.
func (f mirrorFeed) MirrorSeen(pod *v1.Pod) {
	f.statuses.Live(pod)
	f.mirrors.MirrorSeen(pod)
}

// MirrorGone is a mirror pod that the API has no longer.
func (f mirrorFeed) MirrorGone(pod *v1.Pod) {
	f.statuses.Gone(pod)
	f.mirrors.MirrorGone(pod)
}
