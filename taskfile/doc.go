// Package taskfile offers the commands of a project's Taskfile: list_commands, run_command and the task
// passthrough.
//
// The child program toolhost-task does all the work, one process per listing and per run, because
// go-task is heavy to link, keeps state between runs and cannot be stopped from within. A listing runs
// nothing and is kept until one of its files changes. A run's output passes through the child
// unchanged; its outcome is reported separately (package internal/source/taskprotocol).
package taskfile
