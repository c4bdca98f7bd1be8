// Package console is the server of toolhost console: a page on 127.0.0.1 that
// shows what waits for a person and what ran, in all workspaces of this user.
//
// Everything that a page asks for goes through one guard and one table of
// routes: what is not in the table, or lacks what the table demands, is refused.
// What needs a project (what a call would do, its tools) is asked of the
// program toolhost, as a person would on the command line; the calls that wait,
// the record and what the user decides are read and written here.
package console
