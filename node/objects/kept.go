package objects

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// keepEvery is how soon after each other the file is written.
const keepEvery = 5 * time.Second

// kept is the file with the Services as they were read last, so that the next
// agent can restart containers while the API server is away (A-ENV-1).
type kept struct {
	path     string
	content  []byte         // of the file
	services cache.Indexer  // as the agent before has left them; nil: there was none
	changed  mailbox.Signal // there is something to write
}

// Keep has the Services written to a file as they are read, and takes what an agent
// before has left there for them until they are. Call it before Run. The error says
// that the file can't be read; it is written anew.
func (s *Services) Keep(path string) error {
	s.kept = &kept{path: path, changed: mailbox.NewSignal()}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.kept.changed.Send() },
		UpdateFunc: func(any, any) { s.kept.changed.Send() },
		DeleteFunc: func(any) { s.kept.changed.Send() },
	}
	if _, err := s.informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("watch services: %w", err)
	}
	return s.kept.read()
}

func (k *kept) read() error {
	content, err := os.ReadFile(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the services of before: %w", err)
	}
	var list v1.ServiceList
	if err := json.Unmarshal(content, &list); err != nil {
		return fmt.Errorf("read the services of before in %s: %w", k.path, err)
	}
	services := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for i := range list.Items {
		if err := services.Add(&list.Items[i]); err != nil {
			return fmt.Errorf("read the services of before in %s: %w", k.path, err)
		}
	}
	k.content, k.services = content, services
	return nil
}

// keep writes the file whenever Services have changed, until ctx ends. Nothing is
// written before all have been read.
func (s *Services) keep(ctx context.Context) {
	synced := s.informer.HasSyncedChecker().Done()
	for {
		select {
		case <-ctx.Done():
			return
		case <-synced:
		}
		if err := s.kept.write(s.informer.GetIndexer().List()); err != nil {
			s.log.Warn("can't save the Services for the next start", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(keepEvery):
		}
		select {
		case <-ctx.Done():
			return
		case <-s.kept.changed:
		}
	}
}

// write replaces the file if it has other Services.
func (k *kept) write(objects []any) error {
	var list v1.ServiceList
	for _, object := range objects {
		if service, ok := object.(*v1.Service); ok {
			item := *service // nothing in it is changed
			item.ResourceVersion = ""
			list.Items = append(list.Items, item)
		}
	}
	slices.SortFunc(list.Items, func(a, b v1.Service) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	content, err := json.Marshal(list)
	if err != nil || bytes.Equal(content, k.content) {
		return err
	}
	if err := rootfolder.Ensure(filepath.Dir(k.path), 0o700); err != nil {
		return err
	}
	if err := wholefile.Write(k.path, content); err != nil {
		return err
	}
	k.content = content
	return nil
}

// Migrated is the CSI volume that serves a volume of a type that Kubernetes has handed over to CSI
// drivers, such as awsElasticBlockStore (A-CSI-14); nil: it is not of such a type.
func (o *Objects) Migrated(pod *v1.Pod, volume *v1.Volume) (*v1.PersistentVolume, error) {
	translator := csitranslation.New()
	if !translator.IsInlineMigratable(volume) {
		return nil, nil
	}
	bound, err := translator.TranslateInTreeInlineVolumeToCSI(klog.Background(), volume, pod.Namespace)
	if err != nil {
		return nil, fmt.Errorf("failed to translate to CSI: %w", err)
	}
	return bound, nil
}

// migrated is the same for a PersistentVolume, which is returned as it is if it is not of such a
// type.
func migrated(bound *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	translator := csitranslation.New()
	if !translator.IsPVMigratable(bound) {
		return bound, nil
	}
	translated, err := translator.TranslateInTreePVToCSI(klog.Background(), bound)
	if err != nil {
		return nil, fmt.Errorf("failed to translate PV %s to CSI: %w", bound.Name, err)
	}
	return translated, nil
}
