// Package record keeps what a session did: its events, the count of its calls
// and the files that calls leave for the reader.
//
// Every session has a run directory, by default .agent/runs/NAME:
//
//	events.jsonl                  one JSON object a line, oldest first
//	events.1.jsonl                the lines before those, once events.jsonl was full
//	steps                         as many bytes as calls were made
//	diffs/step_0007.patch         artifacts, named after the step of their call
//	logs/tool_step_0007_stdout.txt
//
// Several processes may write to one session at the same time. An event is one
// write to the end of the file, so that lines interleave whole, and a step is
// the position after a byte appended to the count, so that no two calls get
// the same. The runs directory ignores itself in git.
package record
