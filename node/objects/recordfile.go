package objects

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// folder has a record per name, in the kubelet's form and files: lifepod goes on
// with the records of a kubelet before it, and the other way round.
type folder string

const recordPrefix, unfinished = "sha256-", ".tmp" // what the kubelet has not finished

func (f folder) path(name string) string {
	return filepath.Join(string(f), fmt.Sprintf("%s%x", recordPrefix, sha256.Sum256([]byte(name))))
}

// versions are those in which the kubelet has written records.
var versions = []string{"kubelet.config.k8s.io/v1beta1", "kubelet.config.k8s.io/v1alpha1"}

func typeOf(kind string) metav1.TypeMeta { return metav1.TypeMeta{Kind: kind, APIVersion: versions[0]} }

// write replaces a record at once or not at all, durably: an image that is pulled
// without its intent on record would be every pod's after a power cut.
func (f folder) write(name string, record any) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := rootfolder.Ensure(string(f), 0o700); err != nil {
		return err
	}
	return wholefile.Write(f.path(name), append(data, '\n'))
}

// remove is no error for a record that is not there.
func (f folder) remove(name string) error {
	if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// pulled reads the record of an image; nil if there is none.
func (f folder) pulled(id string) (*kubelet.ImagePulledRecord, error) {
	record, err := readRecord[kubelet.ImagePulledRecord](f.path(id), "ImagePulledRecord")
	if err != nil || record == nil || record.ImageRef != id {
		return nil, err
	}
	return record, nil
}

// intended says whether the pull of an image was begun and its end not written down.
func (f folder) intended(image string) (bool, error) {
	record, err := readRecord[kubelet.ImagePullIntent](f.path(image), "ImagePullIntent")
	return record != nil && record.Image == image, err
}

func readRecord[T any](path, kind string) (*T, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var header metav1.TypeMeta
	if err := json.Unmarshal(data, &header); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if header.Kind != kind || !slices.Contains(versions, header.APIVersion) {
		return nil, fmt.Errorf("%s: it is %q of %q, want %s of one of %q", path, header.Kind, header.APIVersion, kind, versions)
	}
	record := new(T)
	if err := json.Unmarshal(data, record); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return record, nil
}

// list reads all records of a folder; the error tells of those that can't be read.
func list[T any](f folder, kind string) ([]*T, error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []*T
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasPrefix(entry.Name(), recordPrefix) || strings.HasSuffix(entry.Name(), unfinished) {
			continue
		}
		record, readErr := readRecord[T](filepath.Join(string(f), entry.Name()), kind)
		err = errors.Join(err, readErr)
		if record != nil {
			all = append(all, record)
		}
	}
	return all, err
}
