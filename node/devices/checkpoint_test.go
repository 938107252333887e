package devices_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/devices/checkpoint"
)

// A-DEV-10: a kubelet of 1.36.3 has written the file, which is read, and written the same to the byte.
func TestCheckpointOfTheKubelet(t *testing.T) {
	const path = "testdata/" + checkpoint.File
	content, err := checkpoint.Read(path)
	assert.Must(t, err)
	want := checkpoint.Content{
		Entries: []checkpoint.PodDevicesEntry{
			{PodUID: "7a1d0d8e-0f8c-4f3e-9d6a-2c6f1f0b9a11", ContainerName: "trainer", ResourceName: "example.com/gpu", DeviceIDs: checkpoint.DevicesPerNUMA{0: {"gpu-0"}, 1: {"gpu-2", "gpu-3"}}, AllocResp: []byte{10, 8, 10, 3, 71, 80, 85, 18, 1, 48}},
			{PodUID: "7a1d0d8e-0f8c-4f3e-9d6a-2c6f1f0b9a11", ContainerName: "log", ResourceName: "example.com/nic", DeviceIDs: checkpoint.DevicesPerNUMA{-1: {"nic-0"}}, AllocResp: []byte{}},
		},
		Registered: map[string][]string{"example.com/gpu": {"gpu-0", "gpu-1"}, "example.com/nic": {}},
	}
	assert.Deep(t, "A-DEV-10 content", want, content)
	again := filepath.Join(t.TempDir(), checkpoint.File)
	assert.Must(t, checkpoint.Write(again, content))
	was, _ := os.ReadFile(path)
	if now, err := os.ReadFile(again); err != nil || !bytes.Equal(was, now) {
		t.Errorf("A-DEV-10: written as\n%s\n(%v), want\n%s", now, err, was)
	}
}

// A damaged file is an error, and says which one it is.
func TestCheckpointDamaged(t *testing.T) {
	was, err := os.ReadFile("testdata/" + checkpoint.File)
	assert.Must(t, err)
	for name, text := range map[string][]byte{
		"cut off": was[:len(was)/2], "changed": bytes.Replace(was, []byte("gpu-3"), []byte("gpu-9"), 1), "empty": nil,
	} {
		path := filepath.Join(t.TempDir(), checkpoint.File)
		assert.Must(t, os.WriteFile(path, text, 0o600))
		if content, err := checkpoint.Read(path); err == nil || len(content.Entries) > 0 {
			t.Errorf("%s: %v, error %v", name, content, err)
		}
	}
}
