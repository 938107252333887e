// Package foldervolume deletes the volumes of clusters that had no CSI driver of their own: a
// claim of the class "local" was a folder below ROOT/volumes on one node then, and a
// PersistentVolume of type local. They go on working, and are deleted here, by the server of
// their node, when their claims are. New claims get volumes of the driver: package localvolume.
package foldervolume
