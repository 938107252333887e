// Package initprocess makes a program the first process of containers: what runc's library
// executes is the program that it is linked into, with the argument "init".
//
// The part of it that is C joins and makes namespaces before Go begins: without cgo there is none.
package initprocess
