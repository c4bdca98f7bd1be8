// Package kit is the base of toolsets with their own contract. A toolset has
//
//   - its tools' definitions, a file tools/NAME.json each, read by [Read];
//   - a [Contract]: how it expresses success, failure and errors, and what it accepts beyond its schemas;
//   - for each tool a function that does the work on decoded parameters, and for tools that change
//     things one that plans it. [Tool] joins them.
//
// So a tool is one file of JSON, one function, and one line:
//
//	kit.Tool(contract, deps, "read_file", runRead, nil)
//
// A call: the tool's workspace is there; the toolset checks permissions; the parameters are
// decoded, and for a Strict contract checked again; the call gets its own view of the workspace, so
// that its changes can be undone; the function runs; its outcome or error becomes the contract's
// result. A question for the user goes to the host unchanged.
//
// Shared code is here: opening the workspace, general error texts, and reports on a command
// ([Outcome], [Advise]).
package kit
