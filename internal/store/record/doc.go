// Package record keeps what sessions did: in the user's state an entry for each step of a call, with parameters
// and result, and in the workspace copies for readers.
//
// The record proper is in the state directory, below record:
//
//	00000001.jsonl          entries, one JSON object a line
//	00000001.objects/HASH.gz  large content of that segment's entries
//	00000001.summary.json   summary of a finished segment; can be deleted
//	steps/NAME              as many bytes as calls of a session were made
//	writers/ID              a writing process; locked while it lives
//
// An entry is one append to the log under a lock: it survives once the write returns, even if the process is
// killed, and the next writer cuts off a partial entry.
//
// The copies of a session are in .agent/runs/NAME of the workspace, or in a directory of the operator's choice.
// Nothing is read from there:
//
//	events.jsonl            one JSON object a line, where a contract promises it
//	diffs/step_0007.patch   artifacts, named after the step of their call
//	logs/tool_step_0007_stdout.txt
package record
