// Package environment tests, against a real API server and with the rights of a
// node, what the environment of containers and the pulls of their images take from
// it: Services, RuntimeClasses, service accounts and their tokens.
package environment
