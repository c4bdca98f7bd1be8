// Package show makes foreign texts (of an agent, tool, repository or server) safe to show on a
// terminal, in a client's question, in a log.
//
// The result moves no cursor, hides nothing and changes no direction. Only unmistakable characters are
// shown; others are escaped, \u202e, and so are ASCII lookalikes among foreign characters.
package show
