// Package console is the server of toolhost console: a page on 127.0.0.1 that shows what waits for the
// user and what ran, in all workspaces of this user.
//
// Every request goes through one guard and one table of routes: what is not in the table, or lacks what
// the table demands, is refused. Questions about a project (its tools, what a call would do) go to the
// program toolhost; waiting calls, the record and the user's decisions are read and written here.
package console
