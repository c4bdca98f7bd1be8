// Package mcpclient connects to other MCP servers and offers their tools as toolhost's. A server is a program
// on stdio, or a URL (streamable HTTP).
//
// Listings are cached, and the first call connects. A server that is dead, hangs or breaks its protocol fails
// only its own calls.
package mcpclient
