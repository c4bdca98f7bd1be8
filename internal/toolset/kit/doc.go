// Package kit is what the toolsets with a contract of their own stand on. A
// toolset brings three things, and nothing else:
//
//   - its tools' definitions, a file tools/NAME.json each, read by [Read];
//   - a [Contract], which is how it speaks: what it calls success and failure,
//     how it words errors, what it accepts beyond its schemas;
//   - for each tool a function that does the work on decoded parameters, and
//     for tools that change things one that tells beforehand what they would
//     change. [Tool] joins them.
//
// So a tool of a toolset is one file of JSON, one function, and one line:
//
//	kit.Tool(contract, deps, "read_file", runRead, nil)
//
// The life of a call: the tool's workspace is there; the toolset is ready for
// it (permissions); the parameters are decoded, and for a Strict contract
// checked once more; the call gets its own view of the workspace, so that what
// it changes can be undone; the function runs; what it came to, or its error,
// becomes the contract's result. A question that has to be put to the user
// first is no result and goes to the host as it is.
//
// What several toolsets do alike is here once: opening the workspace, words
// for errors that are not the contract's own, and what is said of a command that
// ran ([Outcome], [Advise]).
package kit
