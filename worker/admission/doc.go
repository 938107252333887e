// Package admission says whether this node can keep what a pod asks for, before
// anything of the pod is made (contract A-ADM). It is pure: what the machine and
// its runtime can do comes in Host, which Read reads once.
package admission
