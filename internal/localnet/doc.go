// Package localnet keeps 127.0.0.0/8 for the programs of this machine. Host ports need
// route_localnet of the pods' bridge, and with it the kernel takes packets for 127.0.0.1
// from that bridge, too (CVE-2020-8558). The guard drops what comes for these addresses
// by any other interface than lo, before connections are tracked and addresses
// translated: no reply has such a destination there, because the kernel puts it back later.
//
// IPv6 needs none: the kernel drops what comes for ::1 from elsewhere, whatever is set.
package localnet
