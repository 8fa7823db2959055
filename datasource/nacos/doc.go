// Package nacos is a datasource over documents kept in a Nacos server (2.x): sources to watch, and documents to get, publish and delete.
//
// A Client is one connection to one server of a cluster, in one namespace, made when something is first asked for. One goroutine, the client's worker,
// connects, listens and reads for all its sources; the server's notices only say what to look at. What happens when:
//
//   - A source begins to be watched: the server is asked for notices of the document, and then for the document, which is delivered at once.
//   - A notice comes: the document is read and delivered at once, and read again 1s and 3s later, since servers lose the notice of
//     a change that follows another closely.
//   - A reading that nobody gave notice of is another than what was delivered: it is read again a second later, and delivered if
//     that agrees, since servers answer with old content for a while after a publish. (If none agrees with the one before for 3s, the newest is delivered.)
//   - Nothing comes: every Config.Reread (30s ± 20%) the server is asked, in one request for all documents, whether they are still the same, and
//     what is not is read. Every tenth time or so each is read in any case.
//   - The content is the same: nothing is delivered.
//   - The document does not exist, was deleted, is empty, or the server came back without its data: datasource.ErrAbsent, and whoever applies documents keeps the last
//     good one. Only EmptyClears and EmptyIs make it a document, once it was read twice, a second apart.
//   - The connection is lost: it is made anew at once, to another server if there is one, and after pauses that grow from 200ms to 3s. The server is then asked for notices
//     again and for what has changed meanwhile. Why there is no connection is delivered once, and the document again, be it the same, when there is one.
//   - A server does not answer: Config.Timeout bounds every request. One that says nothing for 5s is asked whether it is still there.
//   - The server refuses (ErrForbidden, say): that is delivered once, and tried again after pauses that grow from 1s to 5s. A token that is refused is
//     replaced by logging in again, at most every 2s.
//
// Errors say which server, what was asked of it and why it failed; none holds a password or a token. Nothing is written to files or to the terminal, and nothing
// runs before something is asked for nor after Close.
//
// Of the SDK, nacos-sdk-go v2, the package uses the protocol: its gRPC stubs and its messages. docs/adr/0012 says why not its client.
package nacos
