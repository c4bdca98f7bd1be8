// Package taskfile offers the commands of a project's Taskfile: list_commands,
// run_command and the task passthrough.
//
// All work is done by the child program toolhost-task, one process a listing
// and one a run, because go-task is heavy to link, keeps state between runs
// and cannot be stopped from within. A listing runs nothing of the Taskfile
// and is kept until one of the files that it depends on changes. A run's
// output passes through the child untouched; how it ended comes back beside
// the output (package internal/source/taskprotocol).
package taskfile
