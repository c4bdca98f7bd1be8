// Package mcpclient connects to other MCP servers and gives their tools as
// tools of toolhost. A server is a program that is spoken to over its standard
// input and output, or a URL (streamable HTTP).
//
// Nothing is started before it is needed: what a server said of its tools is
// kept, and the first call connects. A server that is dead, hangs or breaks
// its protocol fails its own calls and nobody else's.
package mcpclient
