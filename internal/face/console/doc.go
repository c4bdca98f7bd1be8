// Package console is the server of toolhost console: a page on 127.0.0.1 that shows what waits for the
// user and what ran, in all the user's workspaces.
//
// Every request goes through one guard and one table of routes: what is not in the table, or lacks what
// it demands, is refused. The program toolhost answers questions about a project (its tools, what a
// call would do); waiting calls, the record and the user's decisions are read and written here.
package console
