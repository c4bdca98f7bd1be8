// Package record keeps what sessions did: one entry for each step of a call,
// with parameters and result, in the user's state, and copies for the reader in
// the workspace.
//
// What is believed lies in the state directory, below record:
//
//	00000001.jsonl          entries, one JSON object a line
//	00000001.objects/HASH.gz  what entries of that segment hold that is large
//	00000001.summary.json   what is in that segment, once another one follows; can be deleted
//	steps/NAME              as many bytes as calls of a session were made
//	writers/ID              a process that writes; locked as long as it lives
//
// An entry is one write to the end of the log under a lock, so that it is there
// when the write returns, whatever becomes of the process, and what a process
// began to write when it was killed is cut off by the next.
//
// The copies of a session lie in .agent/runs/NAME of the workspace, or in a
// directory of the operator's choice. Nothing is read from there:
//
//	events.jsonl            one JSON object a line, where a contract promises it
//	diffs/step_0007.patch   artifacts, named after the step of their call
//	logs/tool_step_0007_stdout.txt
package record
