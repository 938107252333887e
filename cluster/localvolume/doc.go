// Package localvolume is the default StorageClass of a cluster, "local", and its
// provisioner: a claim whose pod the scheduler has put on this node gets a folder
// here and a PersistentVolume of type local that is bound to the node. The folder is
// deleted with the volume.
//
// A volume has the capacity that was claimed, and a claim for more than is free in
// the file system is refused; but nothing keeps a pod from writing more than it has
// claimed, or several claims from being promised the same free space. The scheduler
// knows nothing of this: it considers capacity only for provisioners that are CSI
// drivers.
//
// Only one node is served, the one of this process. The class's allowedTopologies
// tell the scheduler so. To serve others, each node would have to provision its own
// folders, as CSI drivers do that are deployed per node.
//
// sig-storage-lib-external-provisioner is not used: it ends the process when it
// can't begin, writes into the shared informers' cache, and waits 15 s before it
// tries again.
package localvolume
