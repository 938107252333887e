// Package images makes the images that lifepod carries, so that pods run
// without a registry: lifepod.dev/pause:1 holds a pod's namespaces, and
// lifepod.dev/toolbox:1 is what examples and tests run.
//
// They come as one tar archive, an OCI image layout that is a `docker save`
// archive too; containerd imports both under their names. The same binaries give
// the same archive, byte for byte. Layers are not compressed: the archive is
// compressed as a whole when it is bundled.
package images
