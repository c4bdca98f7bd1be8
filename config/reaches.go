package config

import "strconv"

// Reach is what the processes of one block reach by the network.
type Reach struct {
	// Block is its name for people, `tool "lint"`, Pos its place.
	Block, Pos string
	// All means everything; otherwise Hosts.
	All   bool
	Hosts []string
}

// String implements fmt.Stringer.
func (r Reach) String() string {
	switch {
	case r.All:
		return "every host, and this machine's own ports"
	case len(r.Hosts) > 0:
		return hostList(r.Hosts)
	}
	return "no host"
}

// Reaches returns the blocks whose processes reach the network, with the sandbox block for the defaults.
func (c *Config) Reaches() (all []Reach) {
	add := func(kind, name, pos string, a Access) {
		if name != "" {
			kind += " " + strconv.Quote(name)
		}
		if a.Network || len(a.Hosts) > 0 {
			all = append(all, Reach{kind, pos, a.Network, a.Hosts})
		}
	}
	if s := c.Sandbox; s != nil {
		add("sandbox", "", s.Pos, Access{Network: s.Network, Hosts: s.Hosts})
	}
	if t := c.Taskfile; t != nil {
		add("taskfile", "", t.Pos, t.Access)
	}
	for i := range c.Tools {
		add("tool", c.Tools[i].Name, c.Tools[i].Pos, c.Tools[i].Access)
	}
	for i := range c.Resources {
		add("resource", c.Resources[i].Name, c.Resources[i].Pos, c.Resources[i].Access)
	}
	for i := range c.Plugins {
		add("plugin", c.Plugins[i].Name, c.Plugins[i].Pos, c.Plugins[i].Access)
	}
	for i := range c.Servers {
		if len(c.Servers[i].Command) > 0 {
			add("mcp", c.Servers[i].Name, c.Servers[i].Pos, c.Servers[i].Access)
		}
	}
	for _, a := range c.Agents {
		add("agent", a.Role, a.Pos, a.Access)
	}
	return all
}
