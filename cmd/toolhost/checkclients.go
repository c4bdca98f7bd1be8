package main

import (
	"strconv"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
)

// maxDescription is how much of a description clients show a model, in
// characters.
const maxDescription = 2048

// tooLong warns of what clients cut, or lose all tools for.
func (c *checker) tooLong() {
	for _, e := range c.project.Host.Catalog().Entries() {
		at := c.placeOf(e)
		if n := len(e.Name); n > host.MaxForeignName {
			c.warn(at, "Long name", "The tool "+e.Name+" has a name of "+strconv.Itoa(n)+
				" characters. Clients put a prefix before it, and model APIs take 64 in all",
				"Shorten it to "+strconv.Itoa(host.MaxForeignName)+".")
		}
		if n := utf8.RuneCountInString(e.Definition().Description); n > maxDescription {
			c.warn(at, "Long description",
				"The description of "+e.Name+" has "+strconv.Itoa(n)+" characters. Clients cut it after "+
					strconv.Itoa(maxDescription),
				"Shorten it; what a parameter means belongs into the parameter's description.")
		}
	}
}

// placeOf is where agent.hcl names a tool or its source.
func (c *checker) placeOf(e *host.Entry) string {
	for i := range c.cfg.Tools {
		if c.cfg.Tools[i].Name == e.Tool.Definition().Name {
			return c.cfg.Tools[i].Pos
		}
	}
	return c.declaredAt(e.Source)
}
