// Package trust is whom the API of simulated nodes and its clients trust: the certificate that it
// is served with, and the authorities of its clients' certificates.
package trust
