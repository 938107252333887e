// Package transport carries what the nodes of a group say to each other (B-GRP): over their own APIs, from node to node,
// by mutual TLS. It knows nothing of pods. One node of a group leads it; each of the others joins it by one request, and
// then has a stream to the parent that the leader has given it, so that they are a tree:
//
//	leader     Lead; Tell: a verdict, for all; Leader.Heard: reports
//	 │ ▲       at most 32 children each, 64 after others were lost
//	relays
//	 ▼ │
//	members    Join, Run; Tell: a report, for the leader
//
// A report and a verdict are the whole of what their sender has to say: of each sender only the newest is kept and passed
// on, so that nobody waits for a slow peer. After a stream was lost, the newest go by the next one. So any message may be
// lost, and the last one comes in the end.
//
// Nobody between a member and the leader is believed:
//
//   - Who a peer is, its certificate says: system:node:NAME, by the cluster's authority, on both sides ([HTTPS] verifies
//     that of servers, node/server that of clients).
//   - A report has a MAC, by a key that its node has given to the leader when it joined. A verdict has a signature, by a key
//     that the leader has given to the member then. These keys are a process's own and are not kept: the certificates may be
//     renewed meanwhile, and their keys sign nothing else than they are for.
//   - Both are of one group, one leadership (term) and one sender, and have a number: an old one counts nowhere.
//   - A node takes as a child only whom the leader has sent to it, by its signature (ticket).
//
// A hostile member can keep its own group waiting, as it can without saying anything; it can't speak for another.
package transport
