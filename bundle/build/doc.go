// Command build makes the runtime that lifepod carries: containerd, its shim, the
// program of sandboxes, runc, the CNI plugins and the two images, compressed into
// bundle/assets/runtime.tar.zst with bundle/assets/manifest.json beside it, and the
// program of clusters in cluster.tar.zst.
//
// Run it from the repository's root as `go run ./bundle/build`. When nothing
// it reads has changed since the last run it does nothing.
//
// What it builds for another architecture (-arch) is below .cache, together with
// overlay.json, for the flag -overlay of `go build`: it puts that in the assets' place.
//
// For the demo (-demo) it leaves the program of clusters out, compiles the packages of
// cmd/lifepod-demo beside the runtime, packs that below .cache/demo in a second, and writes
// .cache/demo/overlay.json, with which `go build` embeds this archive alone.
//
// images.go makes the images that lifepod carries, so that pods run
// without a registry: lifepod.dev/pause:1 holds a pod's namespaces, and
// lifepod.dev/toolbox:1 is what examples and tests run.
//
// They come as one tar archive, an OCI image layout that is a `docker save`
// archive too; containerd imports both under their names. The same binaries give
// the same archive, byte for byte. Layers are not compressed: the archive is
// compressed as a whole when it is bundled.
package main
