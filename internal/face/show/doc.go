// Package show turns texts that somebody else wrote (an agent, a tool, a
// repository, a server) into what a person can rely on seeing: on a terminal, in
// a client's question, in a log.
//
// What comes out moves no cursor, hides nothing and turns nothing around. A
// character is shown as it is only where it is on the list of those that are
// seen for what they are; any other is written out, \u202e, and so is one that
// looks like an ASCII character in the middle of what it is not part of.
package show
