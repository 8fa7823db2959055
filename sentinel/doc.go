// Package sentinel reads and writes the rule documents of Sentinel Java (1.8), its gateway adapters among it, and sentinel-golang (1.0, master), and reads the latter's
// resources for Kubernetes, so that rules kept in a file or a config centre for either can be put in force unchanged:
//
//	eng.Watch(ctx, file.Source("app.flow.json"), sentinel.Decoder(sentinel.Flow))
//
// The two dialects accept each other's documents and make "refuse every call" of them: a threshold is called count in
// one and threshold in the other, and what is missing is 0. So each rule's dialect is told by the keys that only one of them
// has; a rule that has keys of both or of neither, and a document that mixes dialects, is refused with a reason, and a limit
// is never taken to be 0 because it was not found. Which dialect it is can be said by WithDialect.
//
// What a document is about (its Kind) cannot be told from its content in general, and is an argument. KindOf makes
// the best of a file's name and the keys, for tools.
//
// Decoder is for Engine.Watch. Decode gives the same per element, with what cordon does not use, so that Document.Encode can write
// edited rules back without losing it. Encode writes rules of any origin, and lists what the dialect cannot say; Document.Losses lists what only the document says.
//
// docs/sentinel.md holds the tables: what is read, and where cordon differs on purpose.
package sentinel
