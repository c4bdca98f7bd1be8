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
// A call checks that the tool has a workspace and that the toolset permits it, decodes the parameters (a
// Strict contract checks them again), and gets its own view of the workspace, so that its changes can be
// undone. Then the function runs; its outcome or error becomes the contract's result. A question for the
// user goes to the host unchanged.
//
// Shared code is here: opening the workspace, general error texts, and reports on a command ([Outcome],
// [Advise]).
package kit
