package network

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// MostEntries is how many entries a list may have.
const MostEntries = 100

// names is the range of the addresses of names, reserved for tests of networks.
var names = netip.MustParsePrefix("198.18.0.0/15")

// webPorts are the ports of an entry that names none, askPorts those of AskEntry.
var (
	webPorts = []uint16{80, 443}
	askPorts = []uint16{22, 80, 443}
)

// AskEntry is the entry for asking a person about each unlisted host, with a port only for that one.
const AskEntry = "ask"

// List is what a process may reach by the network.
type List struct{ entries []Entry }

// Entry is an entry of a list: a name or an address.
type Entry struct {
	// Text is the entry as it was written.
	Text string
	// Name is a host name in lower case, without a final dot. With Below, it means all names below it, not
	// itself.
	Name  string
	Below bool
	// Addr is a literal address; for localhost, this machine's.
	Addr netip.Addr
	// Ask stands for every other name with public addresses, once a person allows it.
	Ask bool
	// Ports are the allowed ports.
	Ports []uint16
}

// Mistake is what is wrong with an entry.
type Mistake struct {
	// Index is the entry's, -1 for the list as a whole.
	Index int
	// What is wrong, and what to write instead.
	What, Fix string
}

func (m *Mistake) Error() string { return m.What + ". " + m.Fix }

// Parse parses a list. The error joins a *Mistake for each wrong entry.
func Parse(texts []string) (List, error) {
	var list List
	switch {
	case len(texts) == 0:
		return list, &Mistake{-1, "The list names no host", `Write "deny" to reach nothing, or name hosts.`}
	case len(texts) > MostEntries:
		return list, &Mistake{-1, fmt.Sprintf("The list has %d entries, of %d at most", len(texts), MostEntries),
			`Name a domain with all below it: "*.example.com".`}
	}
	var wrong []error
	for i, text := range texts {
		e, what, fix := parseEntry(text)
		if what != "" {
			wrong = append(wrong, &Mistake{i, fmt.Sprintf("%q %s", text, what), fix})
		}
		list.entries = append(list.entries, e)
	}
	if wrong != nil {
		return List{}, errors.Join(wrong...)
	}
	return list, nil
}

// Mistakes returns the mistakes that an error of Parse joins.
func Mistakes(err error) (found []*Mistake) {
	if one, ok := err.(*Mistake); ok {
		return []*Mistake{one}
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range all.Unwrap() {
			found = append(found, Mistakes(err)...)
		}
	}
	return found
}

// parseEntry parses an entry, or returns what is wrong with it.
func parseEntry(text string) (e Entry, what, fix string) {
	e.Text, e.Ports = text, webPorts
	host, port, what, fix := splitPort(text)
	if what != "" {
		return e, what, fix
	}
	if port != 0 {
		e.Ports = []uint16{port}
	}
	if host == AskEntry {
		e.Ask = true
		if port == 0 {
			e.Ports = askPorts
		}
		return e, "", ""
	}
	if host == "localhost" || host == "localhost." {
		e.Addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		return e, "", ""
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		e.Addr = addr.Unmap()
		what, fix = checkLiteral(e.Addr)
		return e, what, fix
	}
	if below, ok := strings.CutPrefix(host, "*."); ok {
		host, e.Below = below, true
	}
	name, err := HostName(host)
	switch {
	case strings.Contains(host, "*"):
		return e, "has a * in the wrong place", `The * stands first, for the names below one: "*.example.com".`
	case err != nil || !IsHostName(name):
		return e, "is not a host name", `Write a host and, unless it is a web server's, a port: "db.example.com:5432".`
	case EndsInNumber(name):
		return e, "is an unusual spelling of an address", "Write the address as four decimal numbers."
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		return e, "means this machine", `Write "localhost:PORT".`
	}
	e.Name = name
	return e, "", ""
}

// splitPort splits the port off an entry; 0 if there is none.
func splitPort(text string) (host string, port uint16, what, fix string) {
	switch {
	case text == "":
		return "", 0, "names no host", `Write a host: "example.com".`
	case strings.Contains(text, "://"):
		_, rest, _ := strings.Cut(text, "://")
		rest, _, _ = strings.Cut(rest, "/")
		return "", 0, "is a URL", fmt.Sprintf("Write only the host: %q.", rest)
	case strings.Contains(text, "/"):
		return "", 0, "has a path, or is a range of addresses",
			`Write hosts, one by one, without a path: "example.com", "10.1.2.3:5432".`
	case text == "*":
		return "", 0, "means every host", `Write network = "allow" for that, or a domain: "*.example.com".`
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return text, 0, "", ""
	}
	host = text
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		n, err := strconv.ParseUint(text[at+1:], 10, 16)
		if err != nil || n == 0 {
			return "", 0, "has a port that is not between 1 and 65535", "Write the port as a number, or leave it out."
		}
		host, port = text[:at], uint16(n)
	}
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
		if addr, err := netip.ParseAddr(host); err != nil || !addr.Is6() {
			return "", 0, "has brackets around something that is not an IPv6 address", `Write "[2001:db8::1]:443".`
		}
	}
	return host, port, "", ""
}

// checkLiteral returns why an address cannot be an entry.
func checkLiteral(addr netip.Addr) (what, fix string) {
	switch {
	case addr.Zone() != "":
		return "has a zone", "Leave out the % and what follows it."
	case addr.IsUnspecified() || addr.IsMulticast() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "is not the address of one host", "Write the host's address."
	case names.Contains(addr):
		return "lies in 198.18.0.0/15, which stands for names", "Name the host instead."
	}
	return "", ""
}

func (l List) texts() (texts []string) {
	for _, e := range l.entries {
		texts = append(texts, e.Text)
	}
	return texts
}

// find returns the entry that allows a name at a port, or nil. Exact names precede names below one, and these
// any name.
func (l List) find(name string, port uint16) (found *Entry) {
	for i := range l.entries {
		e := &l.entries[i]
		if e.has(name) && slices.Contains(e.Ports, port) && (found == nil || e.rank() < found.rank()) {
			found = e
		}
	}
	return found
}

// knows reports whether a name may be reached at any port.
func (l List) knows(name string) bool {
	return slices.ContainsFunc(l.entries, func(e Entry) bool { return e.has(name) })
}

func (e *Entry) has(name string) bool {
	switch {
	case e.Ask:
		return true
	case e.Name == "":
		return false
	case e.Below:
		return strings.HasSuffix(name, "."+e.Name)
	}
	return name == e.Name
}

func (e *Entry) rank() int {
	switch {
	case e.Ask:
		return 2
	case e.Below:
		return 1
	}
	return 0
}

// literal returns the entry of an address and port.
func (l List) literal(addr netip.Addr, port uint16) *Entry {
	for i := range l.entries {
		if e := &l.entries[i]; e.Addr == addr && slices.Contains(e.Ports, port) {
			return e
		}
	}
	return nil
}

// Names reports whether a list names a host at that port itself.
func Names(texts []string, host string, port uint16) bool {
	list, err := Parse(texts)
	if err != nil {
		return false
	}
	e := list.find(host, port)
	return e != nil && !e.Below && !e.Ask
}

// Suggest returns the line of agent.hcl that allows hosts besides those of a list. A host added with the ports
// of the web replaces its entry with a port.
func Suggest(list []string, hosts ...string) string {
	all := make([]string, 0, len(list)+len(hosts))
	for _, entry := range append(slices.Clone(list), hosts...) {
		host := strings.TrimSuffix(strings.TrimSuffix(entry, ":443"), ":80")
		text := strconv.Quote(entry)
		if !slices.Contains(all, text) && (host == entry || !slices.Contains(hosts, host)) {
			all = append(all, text)
		}
	}
	return "network = [" + strings.Join(all, ", ") + "]"
}

// asEntry returns a host and port as written in a list.
func asEntry(host string, port uint16) string {
	if port == 0 || slices.Contains(webPorts, port) {
		return host
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}
