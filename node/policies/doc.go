// Package policies makes the policies of the kubelet's CPU, memory and topology manager from its
// configuration, and keeps who has what in its files.
package policies
